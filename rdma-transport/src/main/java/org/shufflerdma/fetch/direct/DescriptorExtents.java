/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.fetch.descriptor.KnownDescriptor;
import org.shufflerdma.metrics.TcpReason;

/** Tells where in their peers' memory blocks are, by the descriptors of map outputs. Used by the task's thread alone. */
final class DescriptorExtents {
  /** The blocks whose descriptors are read at a time, about as many as the lists in flight take. */
  private static final int RESOLVED_AT_ONCE = 128;

  private final FetchContext context;
  private final DescriptorReader descriptors;
  private final TaskBuffers buffers;
  private final LeftBlocks left;
  private final int owners;

  /**
   * @param owners whose map outputs the task reads
   * @param whileWaiting called about every 100 ms while the task waits; what it throws ends the wait
   */
  DescriptorExtents(
      FetchContext context,
      int owners,
      TaskBuffers buffers,
      LeftBlocks left,
      Runnable whileWaiting) {
    this.context = context;
    this.descriptors = new DescriptorReader(context, whileWaiting);
    this.owners = owners;
    this.buffers = buffers;
    this.left = left;
  }

  /**
   * Finds out where the peer's next block is, and where others are while it is at it: it reads their descriptors if the
   * next one's is not known or its lease is over. It may wait for the peer, and leaves the blocks that have no place.
   *
   * @return false if no block is left, or the next one must wait until the task gives back a buffer
   * @throws TimeoutException if {@code postBy} comes first
   */
  boolean locate(PeerBlocks peer, Connection connection, Deadline postBy)
      throws DescriptorReader.ReadsFailedException, NoConnectionException, InterruptedException,
          TimeoutException {
    boolean mustWait = false;
    while (peer.hasMore() && find(peer, peer.peek()) == null) {
      if (mustWait) {
        return false;
      }
      if (postBy.expired()) {
        throw new TimeoutException("no READ from " + peer.peer() + " could be posted in time");
      }
      List<Integer> unknown = new ArrayList<>();
      peer.forEachToCome(RESOLVED_AT_ONCE, block -> {
        if (find(peer, block) == null) {
          unknown.add(block);
        }
      });
      mustWait =
          !descriptors.resolve(connection, peer, unknown, owners, buffers, (block, reason, why) -> {
            if (reason != TcpReason.POOL) {
              context.cache().forget(peer.peer().endpoint().bootNonce(), peer.output(block));
            }
            left.drop(peer, block, reason, why);
          });
    }
    return peer.hasMore();
  }

  /** What this task or another one has read of the block's map output, if its lease is not over. Never waits. */
  @Nullable
  KnownDescriptor find(PeerBlocks peer, int block) {
    KnownDescriptor known = peer.known(block);
    if (known != null) {
      return known;
    }
    KnownDescriptor cached =
        context.cache().find(peer.peer().endpoint().bootNonce(), peer.output(block));
    if (cached == null
        || cached.lease().expired()
        || !cached.covers(peer.startPartition(block), peer.endPartition(block))) {
      return null;
    }
    peer.resolve(block, cached);
    return cached;
  }
}
