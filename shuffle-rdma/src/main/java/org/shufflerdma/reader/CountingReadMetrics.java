/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.shufflerdma.metrics.Counter;

/**
 * Passes on what Spark's block iterator reports and counts it by path. Local blocks are reported
 * while the iterator is constructed, host-local ones when they are taken from it, which tells them
 * apart. One per reader, used by one thread at a time, as Spark's reporters are.
 */
final class CountingReadMetrics implements ShuffleReadMetricsReporter {
  private final ShuffleReadMetricsReporter spark;
  private final TaskReads task;
  private boolean iteratorConstructed;

  CountingReadMetrics(ShuffleReadMetricsReporter spark, TaskReads task) {
    this.spark = spark;
    this.task = task;
  }

  /**
   * Spark's block iterator is about to be constructed, or has been. Not called by Spark's own reader,
   * whose host-local blocks count as local ones.
   */
  void iteratorConstructed(boolean constructed) {
    iteratorConstructed = constructed;
  }

  /** A block of this executor's own has been read, but not by Spark's iterator. */
  void ownBlockRead(long bytes) {
    task.counters().add(Counter.LOCAL_BLOCKS, 1);
    task.counters().add(Counter.LOCAL_BYTES, bytes);
    spark.incLocalBlocksFetched(1);
    spark.incLocalBytesRead(bytes);
  }

  @Override
  public void incRemoteBlocksFetched(long v) {
    task.addRemoteBlocks(v);
    spark.incRemoteBlocksFetched(v);
  }

  @Override
  public void incLocalBlocksFetched(long v) {
    task.counters().add(iteratorConstructed ? Counter.HOST_LOCAL_BLOCKS : Counter.LOCAL_BLOCKS, v);
    spark.incLocalBlocksFetched(v);
  }

  @Override
  public void incRemoteBytesRead(long v) {
    task.addRemoteBytes(v);
    spark.incRemoteBytesRead(v);
  }

  @Override
  public void incRemoteBytesReadToDisk(long v) {
    spark.incRemoteBytesReadToDisk(v);
  }

  @Override
  public void incLocalBytesRead(long v) {
    task.counters().add(iteratorConstructed ? Counter.HOST_LOCAL_BYTES : Counter.LOCAL_BYTES, v);
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
