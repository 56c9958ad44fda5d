/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

/**
 * How much memory queues take on a device whose entries and slots have 64 bytes and whose queue pairs have pages of their
 * own, as those of mlx5 are (rdma-core, providers/mlx5: get_cqe_size, mlx5_calc_send_wqe and mlx5_alloc_qp_buf in verbs.c).
 * No verb tells it; the queues of other devices are of the same order. All results are in bytes.
 */
final class QueueBytes {
  private static final int ENTRY_BYTES = 64;
  private static final int PAGE_BYTES = 4096;

  /** The send slots of a queue pair over which this side answers READs and posts nothing. */
  private static final int SERVING_SLOTS = 1;

  private QueueBytes() {}

  static long ofCompletionQueue(int entries) {
    return (long) ENTRY_BYTES * entries;
  }

  /** Of a queue pair with so many send slots and one receive slot. */
  static long ofQueuePair(int sendSlots) {
    long bytes = (long) ENTRY_BYTES * (sendSlots + 1);
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  }

  /** Of the queue pairs of so many peers that READ from this side. */
  static long ofInbound(int connections) {
    return connections * ofQueuePair(SERVING_SLOTS);
  }

  /**
   * The most that the queues of a transport take. The completion queue is counted as a provider makes it that rounds up to
   * a power of two.
   *
   * @param outgoing the most connections that this side opens
   * @param inbound the most connections of peers
   */
  static long most(QueueDepths depths, int outgoing, int inbound) {
    long entries = Math.min(Integer.MAX_VALUE, Long.highestOneBit(depths.sum(outgoing)) * 2);
    long bytes = ofCompletionQueue((int) entries) + ofInbound(inbound);
    for (int number = 1; number <= outgoing; number++) {
      bytes += ofQueuePair(depths.of(number));
    }
    return bytes;
  }
}
