/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.executor.ShuffleReadMetrics;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;
import org.jspecify.annotations.Nullable;
import scala.collection.Iterable;
import scala.collection.Iterator;

/**
 * Sums up the metrics of the tasks of each stage. Spark's listener thread writes; the driver's thread
 * takes what there is when the listener bus is empty.
 */
final class StageWatch extends SparkListener {
  private static final long LISTENERS_MS = 30_000;

  /** The plugin's accumulator, which may have a prefix. */
  private static final String RDMA_BYTES = "shuffle.rdma.bytes";

  private final Map<Integer, Sums> running = new TreeMap<>();
  private final List<Map<String, Object>> ended = new ArrayList<>();

  private static final class Sums {
    long tasks;
    long cpuNs;
    long runMs;
    long gcMs;
    long fetchWaitMs;
    long remoteBytes;
    long rdmaBytes;
    long remoteBlocks;
    long localBlocks;
    long readBytes;
    long writtenBytes;
    long writeNs;
    long spilledBytes;

    void add(TaskMetrics metrics) {
      ShuffleReadMetrics read = metrics.shuffleReadMetrics();
      tasks++;
      cpuNs += metrics.executorCpuTime();
      runMs += metrics.executorRunTime();
      gcMs += metrics.jvmGCTime();
      fetchWaitMs += read.fetchWaitTime();
      remoteBytes += read.remoteBytesRead();
      remoteBlocks += read.remoteBlocksFetched();
      localBlocks += read.localBlocksFetched();
      readBytes += read.totalBytesRead();
      writtenBytes += metrics.shuffleWriteMetrics().bytesWritten();
      writeNs += metrics.shuffleWriteMetrics().writeTime();
      spilledBytes += metrics.diskBytesSpilled();
    }
  }

  @Override
  public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
    @Nullable TaskMetrics metrics = end.taskMetrics();
    if (metrics == null) {
      return;
    }
    Sums sums = running.computeIfAbsent(end.stageId(), id -> new Sums());
    sums.add(metrics);
    Iterator<?> each = accumulables(end.taskInfo()).iterator();
    while (each.hasNext()) {
      if (each.next() instanceof AccumulableInfo info
          && info.name().exists(name -> name.endsWith(RDMA_BYTES))
          && info.update().isDefined()
          && info.update().get() instanceof Long bytes) {
        sums.rdmaBytes += bytes;
      }
    }
  }

  /** With Scala 2.12 the method returns another kind of sequence, so code for both versions cannot link to it. */
  private static Iterable<?> accumulables(TaskInfo task) {
    try {
      return (Iterable<?>) TaskInfo.class.getMethod("accumulables").invoke(task);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("TaskInfo.accumulables has failed", e);
    }
  }

  @Override
  public synchronized void onStageCompleted(SparkListenerStageCompleted completed) {
    StageInfo stage = completed.stageInfo();
    @Nullable Sums sums = running.remove(stage.stageId());
    if (sums == null
        || stage.submissionTime().isEmpty()
        || stage.completionTime().isEmpty()) {
      return;
    }
    long startMs = (Long) stage.submissionTime().get();
    long endMs = (Long) stage.completionTime().get();
    Map<String, Object> one = new LinkedHashMap<>();
    one.put("stage", stage.stageId());
    one.put("attempt", stage.attemptNumber());
    one.put("tasks", sums.tasks);
    one.put("wall_s", (endMs - startMs) / 1e3);
    one.put("task_cpu_s", sums.cpuNs / 1e9);
    one.put("task_run_s", sums.runMs / 1e3);
    one.put("gc_s", sums.gcMs / 1e3);
    one.put("fetch_wait_s", sums.fetchWaitMs / 1e3);
    one.put("remote_bytes", sums.remoteBytes);
    one.put("rdma_bytes", sums.rdmaBytes);
    one.put("remote_blocks", sums.remoteBlocks);
    one.put("local_blocks", sums.localBlocks);
    one.put("read_bytes", sums.readBytes);
    one.put("written_bytes", sums.writtenBytes);
    one.put("write_s", sums.writeNs / 1e9);
    one.put("spilled_bytes", sums.spilledBytes);
    ended.add(one);
  }

  /** Requires the stages since the last call, which it takes, to have fetched so many blocks. */
  void requireRemoteBlocks(JavaSparkContext spark, long expected) throws TimeoutException {
    long fetched = takeAll(spark).stream()
        .mapToLong(stage -> (Long) stage.get("remote_blocks"))
        .sum();
    if (fetched != expected) {
      throw new IllegalStateException(fetched + " blocks were remote instead of " + expected);
    }
  }

  /** Returns all stages that have ended since the last call, also those of which nobody has heard. */
  List<Map<String, Object>> takeAll(JavaSparkContext spark) throws TimeoutException {
    spark.sc().listenerBus().waitUntilEmpty(LISTENERS_MS);
    synchronized (this) {
      List<Map<String, Object>> taken = List.copyOf(ended);
      ended.clear();
      return taken;
    }
  }
}
