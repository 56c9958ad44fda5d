/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.jspecify.annotations.Nullable;

/**
 * Adds up what the tasks of a context report. Spark's listener thread writes; any thread may read.
 */
final class Watch extends SparkListener {
  private static final Pattern COUNTER =
      Pattern.compile("(?:internal\\.metrics\\.)?shuffle\\.rdma\\.(.+)");

  private final Map<String, Long> counters = new HashMap<>();
  private long spilledBytes;
  private int mapTasksEnded;
  private int executorsRemoved;

  @Override
  public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
    end.taskInfo().accumulables().foreach(info -> {
      add(info);
      return null;
    });
    @Nullable TaskMetrics metrics = end.taskMetrics();
    if (metrics == null) {
      return;
    }
    spilledBytes += metrics.diskBytesSpilled();
    if (metrics.shuffleWriteMetrics().recordsWritten() > 0) {
      mapTasksEnded++;
    }
  }

  private void add(AccumulableInfo info) {
    Matcher counter = COUNTER.matcher(info.name().isDefined() ? info.name().get() : "");
    if (counter.matches()
        && info.update().isDefined()
        && info.update().get() instanceof Long update) {
      counters.merge(counter.group(1), update, Long::sum);
    }
  }

  @Override
  public synchronized void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
    executorsRemoved++;
  }

  synchronized long counter(String name) {
    return counters.getOrDefault(name, 0L);
  }

  synchronized long spilledBytes() {
    return spilledBytes;
  }

  synchronized int mapTasksEnded() {
    return mapTasksEnded;
  }

  synchronized int executorsRemoved() {
    return executorsRemoved;
  }
}
