/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.metrics.TcpReason;

/** The blocks of registered map outputs, whose descriptors say where they are. */
final class DescriptorExtents implements ExtentSource {
  /** The blocks whose descriptors are read at a time, about as many as the lists in flight take. */
  private static final int RESOLVED_AT_ONCE = 128;

  private final FetchContext context;
  private final DescriptorReader descriptors;
  private final TaskBuffers buffers;
  private final LeftBlocks left;
  private final int owners;

  /** @param owners whose map outputs the task reads */
  DescriptorExtents(
      FetchContext context,
      DescriptorReader descriptors,
      int owners,
      TaskBuffers buffers,
      LeftBlocks left) {
    this.context = context;
    this.descriptors = descriptors;
    this.owners = owners;
    this.buffers = buffers;
    this.left = left;
  }

  /** Reads the descriptors of the blocks to come, if the next one's is not known or its lease is over. */
  @Override
  public boolean locate(PeerBlocks peer, Connection connection, Deadline postBy)
      throws ReadsFailedException, NoConnectionException, InterruptedException, TimeoutException {
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

  /** What this task or another one has read of the block's map output, if its lease is not over. */
  @Override
  public @Nullable KnownDescriptor find(PeerBlocks peer, int block) {
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
