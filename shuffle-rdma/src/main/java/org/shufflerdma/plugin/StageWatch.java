/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.Iterable;
import scala.collection.Iterator;

/** Logs the verdict on each stage that has ended. Called by Spark's thread for listeners alone. */
final class StageWatch extends SparkListener {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");
  /** With Scala 2.12 it returns another kind of sequence, so code for both versions cannot link to it. */
  private static final @Nullable Method ACCUMULABLES = find("accumulables");

  private record Attempt(int stageId, int number) {}

  /** What the tasks of one attempt have counted: the values of a stage's accumulators are sums over all stages. */
  private static final class Sums {
    private final Map<String, Long> counts = new HashMap<>();
    private long runMs;

    private void add(TaskMetrics metrics, Iterable<?> accumulables) {
      runMs += metrics.executorRunTime();
      Iterator<?> each = accumulables.iterator();
      while (each.hasNext()) {
        if (each.next() instanceof AccumulableInfo info
            && info.name().isDefined()
            && info.update().isDefined()
            && info.update().get() instanceof Long update) {
          counts.merge(info.name().get(), update, Long::sum);
        }
      }
    }
  }

  private final Supplier<MemoryAdvice> advice;
  private final boolean publishes;
  private final Map<Attempt, Sums> running = new HashMap<>();

  /** @param publishes as {@link StageVerdict#of} has it */
  StageWatch(Supplier<MemoryAdvice> advice, boolean publishes) {
    this.advice = advice;
    this.publishes = publishes;
  }

  @Override
  public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
    running.put(attemptOf(submitted.stageInfo()), new Sums());
  }

  /**
   * Tasks that end after their stage do not count. An end without metrics brings nothing new: Spark reports the
   * task of a lost executor once more, with what it counted when it ended, before it runs that task again.
   */
  @Override
  public void onTaskEnd(SparkListenerTaskEnd ended) {
    Sums sums = running.get(new Attempt(ended.stageId(), ended.stageAttemptId()));
    if (sums != null && ended.taskMetrics() != null && ACCUMULABLES != null) {
      sums.add(ended.taskMetrics(), accumulables(ACCUMULABLES, ended.taskInfo()));
    }
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted completed) {
    StageInfo stage = completed.stageInfo();
    Sums sums = running.remove(attemptOf(stage));
    if (sums == null) {
      return;
    }
    @Nullable
    String verdict = StageVerdict.of(
        count -> sums.counts.getOrDefault(TaskAccumulators.sparkName(count.publicName()), 0L),
        TimeUnit.MILLISECONDS.toMicros(sums.runMs),
        advice.get(),
        publishes);
    if (verdict != null) {
      LOG.info("Stage {} ({}): {}", stage.stageId(), stage.name(), verdict);
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

  private static Attempt attemptOf(StageInfo stage) {
    return new Attempt(stage.stageId(), stage.attemptNumber());
  }
}
