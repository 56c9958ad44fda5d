/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.shufflerdma.metrics.ReadCounters;

/**
 * The tasks of an executor that read shuffles, whose counts are told once for each task, however many
 * readers it has: the task of {@code coalesce} has one for each partition. Any thread may call.
 */
public final class CountedTasks {
  private final Consumer<ReadCounters> taskEnd;

  private final Map<TaskContext, TaskCounts> running = new ConcurrentHashMap<>();

  /**
   * @param taskEnd told what the readers of a task counted, in the task's thread, when the task has ended
   */
  public CountedTasks(Consumer<ReadCounters> taskEnd) {
    this.taskEnd = taskEnd;
  }

  /** A reporter for one of Spark's own readers, which passes on to {@code spark} what it is told. */
  public ShuffleReadMetricsReporter counted(TaskContext context, ShuffleReadMetricsReporter spark) {
    return new CountingReadMetrics(spark, of(context));
  }

  /**
   * The counts of a task. Spark calls listeners last in, first out: what the listeners do that a reader
   * adds after this call is counted, too.
   */
  TaskCounts of(TaskContext context) {
    TaskCounts counts = new TaskCounts();
    TaskCounts known = running.putIfAbsent(context, counts);
    if (known != null) {
      return known;
    }
    context.addTaskCompletionListener(
        ended -> { // at once if the task has ended
          tell(context);
        });
    return counts;
  }

  /**
   * Spark's figures must have what the block iterators still counted when they gave back what nobody has
   * read, which only the last record would see to.
   */
  private void tell(TaskContext context) {
    TaskCounts counts = Objects.requireNonNull(running.remove(context));
    counts.countTcp();
    context.taskMetrics().mergeShuffleReadMetrics();
    taskEnd.accept(counts.counters());
  }
}
