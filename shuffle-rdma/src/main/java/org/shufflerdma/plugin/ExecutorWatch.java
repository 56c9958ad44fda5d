/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.ui.ExecutorRecord;
import org.shufflerdma.ui.ExecutorRecords;
import org.shufflerdma.ui.ExecutorState;
import org.shufflerdma.ui.ExecutorsReported;

/**
 * Keeps records of executors for Spark's UI, live, and when the history server replays an event log. Called by Spark's thread for
 * listeners, or by the one that replays, alone.
 */
public final class ExecutorWatch extends SparkListener {
  /** How old a record may become while tasks end. */
  private static final long RECORD_NS = TimeUnit.SECONDS.toNanos(1);

  /** Late events come within seconds, and name no executor that has gone before so many others. */
  private static final int MOST_FORGOTTEN = 10_000;

  private static final class Known {
    private final String id;
    private final Map<String, Long> counts = new HashMap<>();
    private ExecutorState state = new ExecutorState();
    private int tasks;
    private boolean removed;
    private boolean changed;
    private long recordedNs = System.nanoTime() - RECORD_NS;

    private Known(String id) {
      this.id = id;
    }
  }

  private final ExecutorRecords records;
  private final Map<String, Known> executors = new HashMap<>();

  /** Those that have gone and have no record: it was deleted, or they had never reported. Late events may still name them. */
  private final Set<String> forgotten = new LinkedHashSet<>();

  public ExecutorWatch(ExecutorRecords records) {
    this.records = records;
  }

  private @Nullable Known of(String id) {
    return forgotten.contains(id) ? null : executors.computeIfAbsent(id, Known::new);
  }

  /** Counts all tasks, also those that end after their stage. */
  @Override
  public void onTaskEnd(SparkListenerTaskEnd ended) {
    Map<String, Long> counts = TaskCounts.of(ended);
    if (counts == null || counts.isEmpty()) {
      return;
    }
    Known executor = of(ended.taskInfo().executorId());
    if (executor == null) {
      return;
    }
    executor.tasks++;
    executor.changed = true;
    counts.forEach((name, n) -> executor.counts.merge(name, n, Long::sum));
    if (System.nanoTime() - executor.recordedNs > RECORD_NS) {
      record(executor);
    }
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted completed) {
    executors.values().stream().filter(executor -> executor.changed).forEach(this::record);
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof ExecutorsReported reported) {
      for (ExecutorState state : reported.executors) {
        Known executor = of(state.executorId);
        if (executor != null) {
          executor.state = state;
          record(executor);
        }
      }
    }
  }

  @Override
  public void onExecutorRemoved(SparkListenerExecutorRemoved gone) {
    Known executor = executors.get(gone.executorId());
    if (executor == null) {
      forget(gone.executorId());
      return;
    }
    if (executor.removed) {
      return;
    }
    executor.removed = true;
    record(executor);
    String oldest = records.removed(executor.id);
    if (oldest != null) {
      executors.remove(oldest);
      forget(oldest);
    }
  }

  private void forget(String id) {
    forgotten.add(id);
    if (forgotten.size() > MOST_FORGOTTEN) {
      forgotten.remove(forgotten.iterator().next());
    }
  }

  private void record(Known executor) {
    executor.changed = false;
    executor.recordedNs = System.nanoTime();
    ExecutorRecord record = new ExecutorRecord();
    record.id = executor.id;
    record.state = executor.state;
    record.tasks = executor.tasks;
    record.counts = Map.copyOf(executor.counts);
    record.removed = executor.removed;
    records.write(record);
  }
}
