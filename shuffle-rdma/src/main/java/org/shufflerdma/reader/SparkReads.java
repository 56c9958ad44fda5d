/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.function.Consumer;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.shufflerdma.metrics.ReadCounters;
import org.shufflerdma.metrics.TcpReason;

/** Counts what Spark's own readers bring on an executor without RDMA. Any task thread may call. */
public final class SparkReads {
  private final Consumer<ReadCounters> taskEnd;

  /**
   * @param taskEnd told what a reader counted, in its task's thread, when the task has ended
   */
  public SparkReads(Consumer<ReadCounters> taskEnd) {
    this.taskEnd = taskEnd;
  }

  /** A reporter for one reader, which passes on to {@code spark} what it is told. */
  public ShuffleReadMetricsReporter counted(TaskContext context, ShuffleReadMetricsReporter spark) {
    ReadCounters counters = new ReadCounters();
    CountingReadMetrics metrics = new CountingReadMetrics(spark, counters);
    metrics.tellAtEnd(
        context, () -> counters.add(TcpReason.RDMA_OFF, metrics.remoteBlocks()), taskEnd);
    return metrics;
  }
}
