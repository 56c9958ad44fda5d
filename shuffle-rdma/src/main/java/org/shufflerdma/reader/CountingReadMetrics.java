/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.function.Consumer;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;

/**
 * Passes on what Spark's block iterator reports and counts it by path. Local blocks are reported
 * while the iterator is constructed, host-local ones when they are taken from it, which tells them
 * apart. One per reader, used by the task's thread alone, as Spark's reporters are.
 */
final class CountingReadMetrics implements ShuffleReadMetricsReporter {
  private final ShuffleReadMetricsReporter spark;
  private final ReadCounters counters;
  private boolean iteratorConstructed;
  private long remoteBytes;
  private long remoteBlocks;

  CountingReadMetrics(ShuffleReadMetricsReporter spark, ReadCounters counters) {
    this.spark = spark;
    this.counters = counters;
  }

  /**
   * Spark's block iterator is about to be constructed, or has been. Not called by Spark's own reader,
   * whose host-local blocks count as local ones.
   */
  void iteratorConstructed(boolean constructed) {
    iteratorConstructed = constructed;
  }

  /** All blocks that Spark has counted as remote, by whichever path. */
  long remoteBlocks() {
    return remoteBlocks;
  }

  /**
   * When the task ends, runs {@code first}, counts as TCP's what Spark read remotely and RDMA did not
   * bring, and tells {@code taskEnd} all counts.
   */
  void tellAtEnd(TaskContext context, Runnable first, Consumer<ReadCounters> taskEnd) {
    // Spark calls listeners last in, first out: this one sees what the block iterator's own
    // listener, added later, still counts when it gives back what nobody has read. Spark's figures
    // must have that, too, which only the last record would see to.
    context.addTaskCompletionListener(ended -> {
      first.run();
      counters.add(Counter.TCP_BYTES, remoteBytes - counters.get(Counter.RDMA_BYTES));
      counters.add(Counter.TCP_BLOCKS, remoteBlocks - counters.get(Counter.RDMA_BLOCKS));
      ended.taskMetrics().mergeShuffleReadMetrics();
      taskEnd.accept(counters);
    });
  }

  /** A block of this executor's own has been read, but not by Spark's iterator. */
  void ownBlockRead(long bytes) {
    counters.add(Counter.LOCAL_BLOCKS, 1);
    counters.add(Counter.LOCAL_BYTES, bytes);
    spark.incLocalBlocksFetched(1);
    spark.incLocalBytesRead(bytes);
  }

  @Override
  public void incRemoteBlocksFetched(long v) {
    remoteBlocks += v;
    spark.incRemoteBlocksFetched(v);
  }

  @Override
  public void incLocalBlocksFetched(long v) {
    counters.add(iteratorConstructed ? Counter.HOST_LOCAL_BLOCKS : Counter.LOCAL_BLOCKS, v);
    spark.incLocalBlocksFetched(v);
  }

  @Override
  public void incRemoteBytesRead(long v) {
    remoteBytes += v;
    spark.incRemoteBytesRead(v);
  }

  @Override
  public void incRemoteBytesReadToDisk(long v) {
    spark.incRemoteBytesReadToDisk(v);
  }

  @Override
  public void incLocalBytesRead(long v) {
    counters.add(iteratorConstructed ? Counter.HOST_LOCAL_BYTES : Counter.LOCAL_BYTES, v);
    spark.incLocalBytesRead(v);
  }

  @Override
  public void incFetchWaitTime(long v) {
    spark.incFetchWaitTime(v);
  }

  @Override
  public void incRecordsRead(long v) {
    spark.incRecordsRead(v);
  }

  @Override
  public void incCorruptMergedBlockChunks(long v) {
    spark.incCorruptMergedBlockChunks(v);
  }

  @Override
  public void incMergedFetchFallbackCount(long v) {
    spark.incMergedFetchFallbackCount(v);
  }

  @Override
  public void incRemoteMergedBlocksFetched(long v) {
    spark.incRemoteMergedBlocksFetched(v);
  }

  @Override
  public void incLocalMergedBlocksFetched(long v) {
    spark.incLocalMergedBlocksFetched(v);
  }

  @Override
  public void incRemoteMergedChunksFetched(long v) {
    spark.incRemoteMergedChunksFetched(v);
  }

  @Override
  public void incLocalMergedChunksFetched(long v) {
    spark.incLocalMergedChunksFetched(v);
  }

  @Override
  public void incRemoteMergedBytesRead(long v) {
    spark.incRemoteMergedBytesRead(v);
  }

  @Override
  public void incLocalMergedBytesRead(long v) {
    spark.incLocalMergedBytesRead(v);
  }

  @Override
  public void incRemoteReqsDuration(long v) {
    spark.incRemoteReqsDuration(v);
  }

  @Override
  public void incRemoteMergedReqsDuration(long v) {
    spark.incRemoteMergedReqsDuration(v);
  }
}
