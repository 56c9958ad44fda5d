/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

/** A number for each {@link TaskMetric}, 0 at first. One thread uses it. */
@SuppressWarnings(
    "EnumOrdinal") // as EnumMap does, without a box for each number of a million tasks
final class MetricValues {
  private final long[] values = new long[TaskMetric.values().length];

  long of(TaskMetric metric) {
    return values[metric.ordinal()];
  }

  void set(TaskMetric metric, long value) {
    values[metric.ordinal()] = value;
  }

  /** Sums of a hostile log stay at the largest number. */
  void add(MetricValues others) {
    for (int i = 0; i < values.length; i++) {
      long other = others.values[i];
      values[i] = values[i] > Long.MAX_VALUE - other ? Long.MAX_VALUE : values[i] + other;
    }
  }
}
