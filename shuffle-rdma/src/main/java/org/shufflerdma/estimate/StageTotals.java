/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/** Sums over the tasks of one attempt of a stage. It belongs to its {@link Application}, and one thread adds to it. */
final class StageTotals {
  final StageKey key;
  private @Nullable StageDescription description;
  private final MetricValues sums = new MetricValues();
  private final BitSet writers = new BitSet();
  private long tasks;
  private long mapOutputs;
  private long firstLaunchMs = Long.MAX_VALUE;
  private long lastFinishMs;
  private double transportMicros;
  private double mostTransportMicros;

  StageTotals(StageKey key) {
    this.key = key;
  }

  void describe(StageDescription description) {
    this.description = description;
  }

  /** @param executor its number */
  void add(TaskEnd task, int executor) {
    tasks++;
    sums.add(task.metrics());
    if (task.of(TaskMetric.BYTES_WRITTEN) > 0) {
      mapOutputs++;
      writers.set(executor);
    }
    if (task.launchMs() > 0 && task.finishMs() >= task.launchMs()) {
      firstLaunchMs = Math.min(firstLaunchMs, task.launchMs());
      lastFinishMs = Math.max(lastFinishMs, task.finishMs());
    }
    double micros = TransportCost.mostSavedMicros(task);
    transportMicros += micros;
    mostTransportMicros = Math.max(mostTransportMicros, micros);
  }

  long of(TaskMetric metric) {
    return sums.of(metric);
  }

  @Nullable
  StageDescription description() {
    return description;
  }

  String name() {
    return description == null ? "(not described)" : description.name();
  }

  long tasks() {
    return tasks;
  }

  /** Tasks that wrote something of a shuffle. */
  long mapOutputs() {
    return mapOutputs;
  }

  /** The numbers of the executors that wrote. */
  BitSet writers() {
    return writers;
  }

  boolean shuffles() {
    return of(TaskMetric.REMOTE_BLOCKS) > 0 || of(TaskMetric.LOCAL_BLOCKS) > 0 || mapOutputs > 0;
  }

  /** Since the epoch; {@link Long#MAX_VALUE} if the log does not say it. */
  long firstLaunchMs() {
    return firstLaunchMs;
  }

  long lastFinishMs() {
    return lastFinishMs;
  }

  /** From the first launch of a task to the last end of one. */
  long wallMs() {
    return Math.max(0, lastFinishMs - firstLaunchMs);
  }

  /** What RDMA can save of its tasks' time at most, and of that of a single task. */
  double transportMicros() {
    return transportMicros;
  }

  double mostTransportMicros() {
    return mostTransportMicros;
  }
}
