/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.function.BooleanSupplier;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.connection.ConnectionPool;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.memory.BufferPool;

/**
 * What the fetches of one fetcher share.
 *
 * @param lanes where a fetch may block; take every step, also while closing
 */
record FetchContext(
    ConnectionPool connections,
    BufferPool buffers,
    DescriptorCache cache,
    DescriptorSeal seal,
    PerPeerExecutor<PeerId> lanes,
    BooleanSupplier closed,
    FetchStats stats,
    ReadPlan.Limits planLimits,
    int progressTimeoutMs,
    int poolWaitMs,
    int leaseMs) {
  /** Forgets the location of a block, which was wrong or is no longer valid. */
  void forget(PeerId peer, PendingBlock block) {
    cache.forget(peer.endpoint().bootNonce(), block.request.descriptor());
  }

  Deadline progressDeadline() {
    return Deadline.afterMs(progressTimeoutMs);
  }

  Deadline descriptorLease() {
    return Deadline.afterMs(leaseMs);
  }

  Deadline poolDeadline() {
    return Deadline.afterMs(poolWaitMs);
  }
}
