/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;
import org.shufflerdma.metrics.TcpReason;

/** Counts the blocks that come by RDMA, and those that do not. */
public final class RdmaCounts {
  private RdmaCounts() {}

  public static void add(ReadCounters counters, Origin origin, long bytes) {
    counters.add(Counter.RDMA_BYTES, bytes);
    counters.add(Counter.RDMA_BLOCKS, 1);
    if (origin != Origin.REGISTERED) {
      counters.add(Counter.STAGED_BYTES, bytes);
      counters.add(Counter.STAGED_BLOCKS, 1);
    }
    if (origin == Origin.NODE_SERVICE) {
      counters.add(Counter.NODE_SERVICE_BYTES, bytes);
      counters.add(Counter.NODE_SERVICE_BLOCKS, 1);
    }
  }

  /** Counts a block that comes another way, and as missed if its owner had it neither registered nor staged. */
  public static void addLeft(ReadCounters counters, TcpReason reason) {
    boolean isMissed = reason == TcpReason.NO_LOCATION
        || reason == TcpReason.WITHDRAWN
        || reason == TcpReason.STAGING;
    counters.add(reason, 1);
    counters.add(Counter.MISSED_BLOCKS, isMissed ? 1 : 0);
  }
}
