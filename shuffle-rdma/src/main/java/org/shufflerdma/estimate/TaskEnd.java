/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

/**
 * The end of one attempt of a task.
 *
 * @param executor id; empty if the log does not say it
 * @param launchMs and {@code finishMs} are times since the epoch; 0 if the log does not say them
 */
record TaskEnd(
    StageKey stage, String executor, long launchMs, long finishMs, MetricValues metrics) {
  long of(TaskMetric metric) {
    return metrics.of(metric);
  }
}
