/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;

/** Counts the blocks that come by RDMA. */
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
}
