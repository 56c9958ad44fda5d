/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.connection.CompletionPoller;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.ConnectionPool;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.ReadCompletion;
import org.shufflerdma.fetch.descriptor.DescriptorCache;
import org.shufflerdma.fetch.read.FetchStats;
import org.shufflerdma.fetch.read.ReadLimits;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.memory.BufferPool;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.node.NodeServices;
import org.shufflerdma.staging.StagingClients;

/**
 * The objects and limits that all fetches of one fetcher share.
 *
 * @param staging null if this fetcher has no blocks staged
 * @param services null if there are no node services
 * @param connects run what makes control connections, finds node services and asks hosts, which has deadlines; they run all of
 *     it, also while closing; each peer has its lane, and each host whose service is searched for
 */
public record FetchContext(
    ConnectionPool connections,
    CompletionPoller poller,
    BufferPool buffers,
    DescriptorCache cache,
    DescriptorSeal seal,
    PerPeerExecutor<Object> connects,
    BooleanSupplier closed,
    FetchStats stats,
    ReadLimits readLimits,
    @Nullable StagingClients staging,
    @Nullable NodeServices services,
    int progressTimeoutMs,
    int poolWaitMs,
    int leaseMs) {
  /** In the place of a time: the lease ended before there was room in the send queue. */
  static final long LEASE_ENDED = -1;

  /** Whether a block of this length can be read into one buffer. */
  boolean fitsInMemory(long lengthBytes) {
    return lengthBytes <= Integer.MAX_VALUE && buffers.canHold(lengthBytes);
  }

  /**
   * Posts READs of ranges that a descriptor names, within its lease: the wait for room in the send
   * queue ends when the lease ends, at the latest.
   *
   * @return how many nanoseconds the post has waited, or {@link #LEASE_ENDED}; nothing was posted then
   */
  static long post(
      Connection connection,
      List<Read> reads,
      RegisteredBuffer sink,
      ReadCompletion completion,
      Deadline lease,
      Deadline deadline)
      throws NoConnectionException, TimeoutException, InterruptedException {
    if (!lease.expired()) {
      try {
        return connection.post(reads, sink, completion, deadline.orSooner(lease));
      } catch (TimeoutException e) {
        if (deadline.expired()) {
          throw e;
        }
      }
    }
    if (deadline.expired()) {
      throw new TimeoutException("no READ from " + connection.peer() + " could be posted in time");
    }
    return LEASE_ENDED;
  }

  Deadline progressDeadline() {
    return Deadline.afterMs(progressTimeoutMs);
  }
}
