/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.shufflerdma.verbs.NativeMemory;

/**
 * How much memory queues take on a device whose entries and slots have 64 bytes, whose send queues have a power of two of
 * slots, and whose queue pairs have pages of their own, as those of mlx5 are (rdma-core, providers/mlx5: get_cqe_size,
 * mlx5_calc_send_wqe, mlx5_calc_sq_size and mlx5_alloc_qp_buf in verbs.c). No verb tells it; the queues of other devices are
 * of the same order. All results are in bytes. Immutable.
 *
 * @param pageBytes of a page of memory
 */
record QueueBytes(long pageBytes) {
  private static final int ENTRY_BYTES = 64;

  /** The send slots of a queue pair over which this side answers READs and posts nothing. */
  private static final int SERVING_SLOTS = 1;

  /** With the pages that this system has. */
  static QueueBytes ofSystem() {
    return new QueueBytes(NativeMemory.pageBytes());
  }

  long ofCompletionQueue(int entries) {
    return (long) ENTRY_BYTES * entries;
  }

  /** Of a queue pair with so many send slots, at least one, and one receive slot. */
  long ofQueuePair(int sendSlots) {
    long bytes = ENTRY_BYTES * (powerOfTwo(sendSlots) + 1);
    return (bytes + pageBytes - 1) / pageBytes * pageBytes;
  }

  /** The least power of two that is no less than a positive number. */
  private static long powerOfTwo(int number) {
    return number == 1 ? 1 : Long.highestOneBit(number - 1L) << 1;
  }

  /** Of the queue pairs of so many peers that READ from this side. */
  long ofInbound(int connections) {
    return connections * ofQueuePair(SERVING_SLOTS);
  }

  /**
   * The most that the queues of a transport take. The completion queue is counted as a provider makes it that rounds up to
   * a power of two, and without the smaller one that exists beside it while it grows.
   *
   * @param outgoing the most connections that this side opens
   * @param inbound the most connections of peers
   */
  long most(QueueDepths depths, int outgoing, int inbound) {
    long entries = Math.min(Integer.MAX_VALUE, Long.highestOneBit(depths.sum(outgoing)) * 2);
    long bytes = ofCompletionQueue((int) entries) + ofInbound(inbound);
    for (int number = 1; number <= outgoing; number++) {
      bytes += ofQueuePair(depths.of(number));
    }
    return bytes;
  }
}
