/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.ShuffleReadMetrics;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.client.RdmaBlockStoreClient;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.fetch.direct.TaskFetches;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;

/**
 * What the readers of one task share: what they have open, and what they count. A task can open very many
 * readers, one for each partition of {@code coalesce} and one for each record of a Cartesian product, so
 * a reader leaves nothing here once it has no more records. Any thread may call: besides the task's own,
 * one that feeds the task's child process may read, and threads that deliver blocks count. Ends with
 * the task, however that ends.
 */
public final class TaskReads {
  private final TaskContext context;
  private final Acquired open = new Acquired();
  private final TaskFetches fetches = new TaskFetches();
  private final Map<Integer, AutoCloseable> uses = new ConcurrentHashMap<>();
  private final ReadCounters counters = new ReadCounters();

  /** That of readers which are not the plugin's. Guarded by this. */
  private @Nullable RdmaBlockStoreClient client;

  /** The readers that had no more records, and their number at which Spark's figures are summed up again. */
  private final AtomicLong exhausted = new AtomicLong();

  private final AtomicLong nextSum = new AtomicLong(1);

  /**
   * What Spark's figures were when these reads began. They are not 0 if a reader is opened after the end of
   * the task, whose reads have been reported by then.
   */
  private final long earlierBytes;

  private final long earlierBlocks;

  TaskReads(TaskContext context) {
    this.context = context;
    ShuffleReadMetrics spark = context.taskMetrics().shuffleReadMetrics();
    this.earlierBytes = spark.remoteBytesRead();
    this.earlierBlocks = spark.remoteBlocksFetched();
  }

  TaskContext context() {
    return context;
  }

  /** What is closed when the task ends, unless it has been given back before. */
  Acquired open() {
    return open;
  }

  /** The client of the readers which are not the plugin's, which is made once. */
  synchronized RdmaBlockStoreClient client(Supplier<RdmaBlockStoreClient> maker) {
    if (client == null) {
      client = maker.get();
      open.keep(client::cancel);
    }
    return client;
  }

  TaskFetches fetches() {
    return fetches;
  }

  /** Keeps what {@code use} returns until the task ends; called once for each shuffle that the task reads. */
  public void use(int shuffleId, IntFunction<AutoCloseable> use) {
    uses.computeIfAbsent(shuffleId, id -> open.keep(use.apply(id)));
  }

  /**
   * Throws an exception if the task has ended or is to end. What a thread meets that still reads then is no
   * failure of the fetch: the constructor of a {@code FetchFailedException} alone tells the task's
   * context, and Spark prefers that to the failure of the user's code, and repeats stages.
   *
   * @param cause what the thread has met, if anything
   */
  void requireRunning(@Nullable Throwable cause) {
    context.killTaskIfInterrupted();
    if (context.isFailed() || context.isCompleted()) {
      throw new IllegalStateException("the task has ended", cause);
    }
  }

  /**
   * A reader has no more records. Spark's own reader then sums up the figures of all readers of the task,
   * which takes a time that grows with the square of their number; here their number doubles in between.
   */
  void exhausted() {
    long readers = exhausted.incrementAndGet();
    if (readers == nextSum.get() && nextSum.compareAndSet(readers, 2 * readers)) {
      context.taskMetrics().mergeShuffleReadMetrics();
    }
  }

  ReadCounters counters() {
    return counters;
  }

  /**
   * Closes what is open, and returns what was counted. As TCP's counts what Spark has read remotely and
   * RDMA did not bring. Called once. Spark's figures must have what the block iterators still counted when
   * they gave back what nobody has read, which only the last record would see to. They lack it where an iterator was
   * opened before these reads began, as in the first task of an executor whose shuffle manager is not the plugin's.
   */
  ReadCounters end() {
    open.close();
    context.taskMetrics().mergeShuffleReadMetrics();
    ShuffleReadMetrics spark = context.taskMetrics().shuffleReadMetrics();
    addTcp(
        Counter.TCP_BYTES,
        spark.remoteBytesRead() - earlierBytes - counters.get(Counter.RDMA_BYTES));
    addTcp(
        Counter.TCP_BLOCKS,
        spark.remoteBlocksFetched() - earlierBlocks - counters.get(Counter.RDMA_BLOCKS));
    return counters;
  }

  private void addTcp(Counter counter, long count) {
    counters.add(counter, hasForeignReaders() ? Math.max(0, count) : count);
  }

  private synchronized boolean hasForeignReaders() {
    return client != null;
  }
}
