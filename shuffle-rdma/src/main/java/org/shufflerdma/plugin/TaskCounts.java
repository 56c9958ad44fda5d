/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.TaskInfo;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.Iterable;
import scala.collection.Iterator;

/** What a task has counted, by the event of its end. */
final class TaskCounts {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  /** With Scala 2.12 it returns another kind of sequence, so code for both versions cannot link to it. */
  private static final @Nullable Method ACCUMULABLES = find("accumulables");

  private static final String OURS = "shuffle.rdma.";

  private TaskCounts() {}

  /**
   * Returns the counts by their public names; null if nothing is known of the task. An end without metrics brings nothing new: Spark
   * reports the task of a lost executor once more, with what it counted when it ended, before it runs that task again.
   */
  static @Nullable Map<String, Long> of(SparkListenerTaskEnd ended) {
    if (ended.taskMetrics() == null || ACCUMULABLES == null) {
      return null;
    }
    Map<String, Long> counts = new HashMap<>();
    Iterator<?> each = accumulables(ACCUMULABLES, ended.taskInfo()).iterator();
    while (each.hasNext()) {
      if (each.next() instanceof AccumulableInfo info
          && info.name().isDefined()
          && info.update().isDefined()) {
        add(counts, info.name().get(), info.update().get());
      }
    }
    return counts;
  }

  /** In an event log the values of all accumulators but Spark's internal ones are texts; users may name theirs as they like. */
  private static void add(Map<String, Long> counts, String sparkName, Object update) {
    String name = TaskAccumulators.publicName(sparkName);
    if (!name.startsWith(OURS)) {
      return;
    }
    if (update instanceof Long number) {
      counts.merge(name, number, Long::sum);
    } else if (update instanceof String text && text.matches("[0-9]{1,18}")) {
      counts.merge(name, Long.parseLong(text), Long::sum);
    }
  }

  private static Iterable<?> accumulables(Method accumulables, TaskInfo task) {
    try {
      return (Iterable<?>) accumulables.invoke(task);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("TaskInfo.accumulables has failed", e);
    }
  }

  private static @Nullable Method find(String name) {
    try {
      return TaskInfo.class.getMethod(name);
    } catch (NoSuchMethodException e) {
      LOG.warn("The driver gives no verdicts on stages: this Spark has no TaskInfo.{}", name);
      return null;
    }
  }
}
