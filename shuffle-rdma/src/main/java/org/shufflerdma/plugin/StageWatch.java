/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.ui.StageRecord;
import org.shufflerdma.ui.StageRecords;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs the verdict on each stage that has ended, and keeps records of stages for Spark's UI. Called by Spark's thread for listeners
 * alone.
 */
final class StageWatch extends SparkListener {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");
  /** How old a record of a running stage may become. */
  private static final long RECORD_NS = TimeUnit.SECONDS.toNanos(1);

  private record Attempt(int stageId, int number) {}

  /** What the tasks of one attempt have counted, by public names: the values of a stage's accumulators are sums over all stages. */
  private static final class Sums {
    private final Map<String, Long> counts = new HashMap<>();
    private final String name;
    private long runMs;
    private int tasks;
    private long recordedNs = System.nanoTime();

    private Sums(String name) {
      this.name = name;
    }

    private void add(Map<String, Long> taskCounts, long taskRunMs) {
      tasks++;
      runMs += taskRunMs;
      taskCounts.forEach((name, n) -> counts.merge(name, n, Long::sum));
    }
  }

  private final Supplier<MemoryAdvice> advice;
  private final boolean publishes;
  private final @Nullable StageRecords records;
  private final boolean logs;
  private final Map<Attempt, Sums> running = new HashMap<>();

  /**
   * @param publishes as {@link StageVerdict#of} has it
   * @param records null if there is no UI
   */
  StageWatch(
      Supplier<MemoryAdvice> advice,
      boolean publishes,
      @Nullable StageRecords records,
      boolean logs) {
    this.advice = advice;
    this.publishes = publishes;
    this.records = records;
    this.logs = logs;
  }

  @Override
  public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
    running.put(attemptOf(submitted.stageInfo()), new Sums(submitted.stageInfo().name()));
  }

  /** Tasks that end after their stage do not count. */
  @Override
  public void onTaskEnd(SparkListenerTaskEnd ended) {
    Attempt attempt = new Attempt(ended.stageId(), ended.stageAttemptId());
    Sums sums = running.get(attempt);
    @Nullable Map<String, Long> counts = sums == null ? null : TaskCounts.of(ended);
    if (sums != null && counts != null) {
      sums.add(counts, ended.taskMetrics().executorRunTime());
      if (System.nanoTime() - sums.recordedNs > RECORD_NS) {
        sums.recordedNs = System.nanoTime();
        record(attempt, sums, StageRecord.State.RUNNING, null);
      }
    }
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted completed) {
    StageInfo stage = completed.stageInfo();
    Sums sums = running.remove(attemptOf(stage));
    if (sums == null || sums.counts.isEmpty()) {
      return;
    }
    @Nullable
    String verdict = StageVerdict.of(
        count -> sums.counts.getOrDefault(count.publicName(), 0L),
        TimeUnit.MILLISECONDS.toMicros(sums.runMs),
        advice.get(),
        publishes);
    if (logs && verdict != null) {
      LOG.info("Stage {} ({}): {}", stage.stageId(), stage.name(), verdict);
    }
    boolean failed = stage.failureReason().isDefined();
    record(
        attemptOf(stage),
        sums,
        failed ? StageRecord.State.FAILED : StageRecord.State.COMPLETE,
        verdict);
  }

  /** Stages that read nothing have no record. */
  private void record(
      Attempt attempt, Sums sums, StageRecord.State state, @Nullable String verdict) {
    if (records == null || sums.counts.isEmpty()) {
      return;
    }
    StageRecord record = new StageRecord();
    record.id = StageRecord.idOf(attempt.stageId, attempt.number);
    record.stageId = attempt.stageId;
    record.attempt = attempt.number;
    record.name = sums.name;
    record.state = state;
    record.tasks = sums.tasks;
    record.runMs = sums.runMs;
    record.counts = Map.copyOf(sums.counts);
    record.verdict = verdict;
    records.write(record);
  }

  private static Attempt attemptOf(StageInfo stage) {
    return new Attempt(stage.stageId(), stage.attemptNumber());
  }
}
