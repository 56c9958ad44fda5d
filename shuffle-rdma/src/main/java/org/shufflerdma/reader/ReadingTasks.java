/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.spark.TaskContext;
import org.shufflerdma.metrics.ReadCounters;

/** The tasks of an executor that read shuffles. One per executor; any thread may call. */
public final class ReadingTasks {
  private final Consumer<ReadCounters> taskEnd;

  private final Map<TaskContext, TaskReads> running = new ConcurrentHashMap<>();

  /**
   * @param taskEnd told what the readers of a task counted, in the task's thread, when the task has ended
   */
  public ReadingTasks(Consumer<ReadCounters> taskEnd) {
    this.taskEnd = taskEnd;
  }

  /**
   * What the readers of a task share. Spark calls listeners last in, first out, so these reads end after
   * the block iterators that Spark opens for them, and what those count when they end is counted, too.
   */
  public TaskReads of(TaskContext context) {
    TaskReads known = running.get(context);
    if (known != null) {
      return known;
    }
    TaskReads reads = new TaskReads(context);
    known = running.putIfAbsent(context, reads);
    if (known != null) {
      return known;
    }
    context.addTaskCompletionListener(
        ended -> { // at once if the task has ended
          taskEnd.accept(Objects.requireNonNull(running.remove(context)).end());
        });
    return reads;
  }
}
