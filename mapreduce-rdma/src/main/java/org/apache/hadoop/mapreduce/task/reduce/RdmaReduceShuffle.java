/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.hadoop.mapreduce.task.reduce;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapred.TaskStatus;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.mapreduce.JobGrant;
import org.shufflerdma.mapreduce.JobSize;

/**
 * What {@link Shuffle} does, with {@link RdmaFetcher}s instead of its own. Schedule, merge, counters and what happens to failures are
 * Hadoop's. It lies in Hadoop's package for the classes that only that package sees.
 */
public final class RdmaReduceShuffle<K, V>
    implements ShuffleConsumerPlugin<K, V>, ExceptionReporter {
  private static final int PROGRESS_MS = 2000;

  // Of Shuffle: all reducers together keep so many events waiting at the application's master.
  private static final int MAX_EVENTS = 10_000;
  private static final int MIN_EVENTS = 100;
  private static final int MAX_EVENTS_OF_ALL = 3_000_000;

  private static final int DEFAULT_COPIES = 5;

  private final JobGrant grant;
  private final int port;
  private final JobSize size;
  private @Nullable Run<K, V> run;

  // Guarded by this.
  private @Nullable Throwable failure;
  private String failedThread = "";

  /** The parts of one run, which init makes. */
  private static final class Run<K, V> {
    final ShuffleConsumerPlugin.Context<K, V> context;
    final ShuffleSchedulerImpl<K, V> scheduler;
    final MergeManager<K, V> merger;
    final ShuffleClientMetrics metrics;

    Run(ShuffleConsumerPlugin.Context<K, V> context, ExceptionReporter reporter) {
      this.context = context;
      JobConf conf = context.getJobConf();
      metrics = ShuffleClientMetrics.create(context.getReduceId(), conf);
      scheduler = new ShuffleSchedulerImpl<>(
          conf,
          context.getStatus(),
          context.getReduceId(),
          reporter,
          context.getCopyPhase(),
          context.getShuffledMapsCounter(),
          context.getReduceShuffleBytes(),
          context.getFailedShuffleCounter());
      merger = new MergeManagerImpl<>(
          context.getReduceId(),
          conf,
          context.getLocalFS(),
          context.getLocalDirAllocator(),
          context.getReporter(),
          context.getCodec(),
          context.getCombinerClass(),
          context.getCombineCollector(),
          context.getSpilledRecordsCounter(),
          context.getReduceCombineInputCounter(),
          context.getMergedMapOutputsCounter(),
          reporter,
          context.getMergePhase(),
          context.getMapOutputFile());
    }
  }

  /**
   * @param grant of the job
   * @param port at which the node service of this host answers
   * @param size of the job
   */
  public RdmaReduceShuffle(JobGrant grant, int port, JobSize size) {
    this.grant = grant;
    this.port = port;
    this.size = size;
  }

  @Override
  public void init(ShuffleConsumerPlugin.Context<K, V> context) {
    run = new Run<>(context, this);
  }

  @Override
  public RawKeyValueIterator run() throws IOException, InterruptedException {
    Run<K, V> parts = run;
    if (parts == null) {
      throw new IllegalStateException("init has not been called");
    }
    JobConf conf = parts.context.getJobConf();
    int events = Math.max(MIN_EVENTS, MAX_EVENTS_OF_ALL / conf.getNumReduceTasks());
    TaskAttemptID reduceId = parts.context.getReduceId();
    EventFetcher<K, V> eventFetcher = new EventFetcher<>(
        reduceId,
        parts.context.getUmbilical(),
        parts.scheduler,
        this,
        Math.min(MAX_EVENTS, events));
    eventFetcher.start();
    Set<TaskAttemptID> byHttp = ConcurrentHashMap.newKeySet();
    List<RdmaFetcher<K, V>> fetchers = new ArrayList<>();
    for (int i = 0; i < conf.getInt(MRJobConfig.SHUFFLE_PARALLEL_COPIES, DEFAULT_COPIES); i++) {
      RdmaFetcher<K, V> fetcher = new RdmaFetcher<>(
          parts.context,
          parts.scheduler,
          parts.merger,
          parts.metrics,
          this,
          grant,
          port,
          size,
          byHttp);
      fetchers.add(fetcher);
      fetcher.start();
    }
    while (!parts.scheduler.waitUntilDone(PROGRESS_MS)) {
      parts.context.getReporter().progress();
      throwFailure();
    }
    eventFetcher.shutDown();
    for (RdmaFetcher<K, V> fetcher : fetchers) {
      fetcher.shutDown();
    }
    parts.scheduler.close();
    parts.context.getCopyPhase().complete();
    parts.context.getStatus().setPhase(TaskStatus.Phase.SORT);
    parts.context.getReduceTask().statusUpdate(parts.context.getUmbilical());
    RawKeyValueIterator merged;
    try {
      merged = parts.merger.close();
    } catch (Throwable t) {
      throw new Shuffle.ShuffleError("the final merge failed", t);
    }
    throwFailure();
    return merged;
  }

  private synchronized void throwFailure() throws IOException {
    if (failure != null) {
      throw new Shuffle.ShuffleError("error in shuffle in " + failedThread, failure);
    }
  }

  @Override
  public void reportException(Throwable t) {
    synchronized (this) {
      if (failure != null) {
        return;
      }
      failure = t;
      failedThread = Thread.currentThread().getName();
    }
    Run<K, V> parts = run;
    if (parts != null) {
      synchronized (parts.scheduler) { // wakes waitUntilDone
        parts.scheduler.notifyAll();
      }
    }
  }

  @Override
  public void close() {}
}
