/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

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

  void iteratorConstructed() {
    iteratorConstructed = true;
  }

  /** All bytes that Spark has counted as remote, by whichever path. */
  long remoteBytes() {
    return remoteBytes;
  }

  long remoteBlocks() {
    return remoteBlocks;
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
