/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.connection.BrokenConnectionException;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.ConnectionPool;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.ReadCompletion;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.memory.BufferPool;
import org.shufflerdma.memory.RegisteredBuffer;

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

  /**
   * Posts READs of what a descriptor says, for as long as its lease lasts: also the wait for room in
   * the send queue ends with the lease.
   *
   * @return false if the lease ended first; nothing was posted then
   */
  static boolean post(
      Connection connection,
      List<Read> reads,
      RegisteredBuffer sink,
      ReadCompletion completion,
      Deadline lease,
      Deadline deadline)
      throws BrokenConnectionException, TimeoutException, InterruptedException {
    if (!lease.expired()) {
      try {
        connection.post(reads, sink, completion, deadline.orSooner(lease));
        return true;
      } catch (TimeoutException e) {
        if (deadline.expired()) {
          throw e;
        }
      }
    }
    if (deadline.expired()) {
      throw new TimeoutException("no READ from " + connection.peer() + " could be posted in time");
    }
    return false;
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
