/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.executor.ShuffleReadMetrics;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import org.jspecify.annotations.Nullable;

/**
 * Counts what the executors report and prints progress. Spark's listener thread writes; the main
 * thread reads once the context has stopped, which drains the listener bus.
 */
final class JobWatcher extends SparkListener {
  private static final long PROGRESS_INTERVAL_NS = TimeUnit.SECONDS.toNanos(3);
  private static final Pattern COUNTER =
      Pattern.compile("(?:internal\\.metrics\\.)?shuffle\\.rdma\\.(.+)");

  private final ShuffleKind shuffle;
  private final Map<String, Long> accumulators = new LinkedHashMap<>();
  private final Map<String, Long> stageMs = new LinkedHashMap<>();
  private final Set<String> executors = new HashSet<>();
  private int stageAttempts;
  private int tasks;
  private final Set<Integer> tasksDone = new HashSet<>();
  private long remoteBytesRead;
  private long localBytesRead;
  private long nextProgressNs = System.nanoTime();

  JobWatcher(ShuffleKind shuffle) {
    this.shuffle = shuffle;
  }

  @Override
  public synchronized void onStageSubmitted(SparkListenerStageSubmitted submitted) {
    tasksDone.clear();
    nextProgressNs = System.nanoTime() + PROGRESS_INTERVAL_NS;
    StageInfo stage = submitted.stageInfo();
    tasks = stage.numTasks();
    if (stage.attemptNumber() > 0) {
      Progress.say("stage " + stage.stageId() + " runs again, attempt " + stage.attemptNumber());
    }
  }

  @Override
  public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
    if (end.taskInfo().successful()) {
      tasksDone.add(end.taskInfo().index());
    }
    executors.add(end.taskInfo().executorId());
    @Nullable TaskMetrics metrics = end.taskMetrics();
    if (metrics != null) {
      ShuffleReadMetrics read = metrics.shuffleReadMetrics();
      remoteBytesRead += read.remoteBytesRead();
      localBytesRead += read.localBytesRead();
    }
    long nowNs = System.nanoTime();
    if (nowNs >= nextProgressNs) {
      nextProgressNs = nowNs + PROGRESS_INTERVAL_NS;
      Progress.say("  stage %d: %d of %d tasks done, %d MB shuffled"
          .formatted(
              end.stageId(),
              tasksDone.size(),
              tasks,
              (remoteBytesRead + localBytesRead) / 1_000_000));
    }
  }

  @Override
  public synchronized void onStageCompleted(SparkListenerStageCompleted completed) {
    StageInfo stage = completed.stageInfo();
    stageAttempts++;
    if (stage.submissionTime().isDefined() && stage.completionTime().isDefined()) {
      long ms =
          (Long) stage.completionTime().get() - (Long) stage.submissionTime().get();
      stageMs.put(stage.stageId() + "." + stage.attemptNumber() + " " + stage.name(), ms);
    }
    stage.accumulables().foreach(entry -> {
      keepTotal(entry._2());
      return null;
    });
  }

  // A stage reports an accumulator's total over the whole application, so the largest is the last.
  private void keepTotal(AccumulableInfo info) {
    Matcher counter = COUNTER.matcher(info.name().isDefined() ? info.name().get() : "");
    if (counter.matches() && info.value().isDefined() && info.value().get() instanceof Long total) {
      accumulators.merge(counter.group(1), total, Math::max);
    }
  }

  synchronized ShuffleTotals totals() {
    if (shuffle == ShuffleKind.SORT) {
      return new ShuffleTotals(0, remoteBytesRead, remoteBytesRead, localBytesRead);
    }
    return new ShuffleTotals(
        accumulators.getOrDefault("bytes", 0L),
        accumulators.getOrDefault("tcp.bytes", 0L),
        remoteBytesRead,
        localBytesRead);
  }

  synchronized Map<String, Long> shuffleCounters() {
    return new LinkedHashMap<>(accumulators);
  }

  synchronized Map<String, Long> stageMs() {
    return new LinkedHashMap<>(stageMs);
  }

  synchronized int executors() {
    return executors.size();
  }

  synchronized int stageAttempts() {
    return stageAttempts;
  }
}
