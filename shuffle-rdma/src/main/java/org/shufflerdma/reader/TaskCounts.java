/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.concurrent.atomic.LongAdder;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;

/**
 * What all readers of one task count. Thread-safe: threads that deliver blocks count as well, and readers
 * may be used by one that feeds the task's child process, besides the task's own.
 */
final class TaskCounts {
  private final ReadCounters counters = new ReadCounters();
  private final LongAdder remoteBytes = new LongAdder();
  private final LongAdder remoteBlocks = new LongAdder();

  ReadCounters counters() {
    return counters;
  }

  /** Spark has read remote bytes, by whichever path. */
  void addRemoteBytes(long bytes) {
    remoteBytes.add(bytes);
  }

  /** Spark has read remote blocks, by whichever path. */
  void addRemoteBlocks(long blocks) {
    remoteBlocks.add(blocks);
  }

  /** Counts as TCP's what Spark read remotely and RDMA did not bring. Called once, at the task's end. */
  void countTcp() {
    counters.add(Counter.TCP_BYTES, remoteBytes.sum() - counters.get(Counter.RDMA_BYTES));
    counters.add(Counter.TCP_BLOCKS, remoteBlocks.sum() - counters.get(Counter.RDMA_BLOCKS));
  }
}
