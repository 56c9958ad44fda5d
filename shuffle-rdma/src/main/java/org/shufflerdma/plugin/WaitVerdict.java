/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCount;
import org.shufflerdma.metrics.TaskTime;

/** Says in one sentence what a stage's tasks have waited for, if that was long, and what to change. */
final class WaitVerdict {
  /** The waits, of which a task has one at a time. The time of a fallback consists of these. */
  private static final List<TaskTime> WAITS = List.of(
      TaskTime.READ, TaskTime.CONNECTION, TaskTime.STAGING, TaskTime.SEND_QUEUE, TaskTime.POOL);

  private static final int LEAST_PERCENT = 25;
  private static final long LEAST_MICROS = TimeUnit.SECONDS.toMicros(5);

  private WaitVerdict() {}

  /**
   * Returns the sentence; null if nothing is to be said.
   *
   * @param counts sums over the stage's tasks
   * @param runMicros for which these tasks ran, together
   * @param memory what to set so that more outputs are registered
   */
  static @Nullable String of(
      ToLongFunction<ReadCount> counts, long runMicros, MemoryAdvice memory) {
    long waited = WAITS.stream().mapToLong(counts).sum();
    if (waited < LEAST_MICROS || 100 * waited < LEAST_PERCENT * runMicros) {
      return null;
    }
    TaskTime main = WAITS.stream().max(Comparator.comparingLong(counts)).orElseThrow();
    return "its tasks waited for %s of the %s that they ran, most of it (%s) for %s"
        .formatted(
            text(waited),
            text(runMicros),
            text(counts.applyAsLong(main)),
            what(main, counts, memory));
  }

  private static String what(TaskTime wait, ToLongFunction<ReadCount> counts, MemoryAdvice memory) {
    return switch (wait) {
      case CONNECTION ->
        "connections, for node services, or for their turn at owners that stage: in the executors' logs, each line"
            + " with event=CONNECTED says how many ms a connect took, and warnings name the connects that failed; if"
            + " connects are fast, raise spark.shuffle.rdma.maxConnections and spark.shuffle.rdma.stagingBytes";
      case STAGING -> "blocks to be staged: " + toStageLess(counts, memory);
      case SEND_QUEUE ->
        "room in send queues, or for other tasks' posts to the same peer: use more executors with fewer cores each, or"
            + " raise spark.shuffle.rdma.sendQueueDepth";
      case POOL -> "fetch buffers: " + StageVerdict.MORE_BUFFERS;
      default ->
        "READs: when executors stop, the last lines of their logs name the peers whose READs took longest; look at"
            + " the links of these (rdma statistic, ethtool -S) and at what else uses the network";
    };
  }

  private static String toStageLess(ToLongFunction<ReadCount> counts, MemoryAdvice memory) {
    long ofNodeServices = counts.applyAsLong(Counter.NODE_SERVICE_BYTES);
    long ofOwners = counts.applyAsLong(Counter.STAGED_BYTES) - ofNodeServices;
    return ofNodeServices > ofOwners
        ? "node services bring them from files; look at the disks of their hosts"
        : memory.toRegister(ofOwners);
  }

  private static String text(long micros) {
    return String.format(Locale.ROOT, "%.1f s", micros / 1e6);
  }
}
