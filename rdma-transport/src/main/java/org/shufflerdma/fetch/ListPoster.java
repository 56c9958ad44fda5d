/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.TcpReason;

/**
 * Turns the next blocks of a peer into a posted list of READs: it reads the descriptors that are not
 * known, plans, and leases the buffer. Used by the task's thread alone.
 */
final class ListPoster {
  /** The blocks whose descriptors are read at a time, about as many as the lists in flight take. */
  private static final int RESOLVED_AT_ONCE = 128;

  /** More blocks than READs, because neighbours share one. */
  private static final int MAX_BLOCKS_OF_A_LIST = 256;

  /** What became of an attempt to post a list. */
  enum Outcome {
    /** The list is in the window. */
    POSTED,
    /** The peer has no more blocks to post, or the next one must wait for blocks in flight. */
    NOT_NOW,
    /** The pool has no buffer until this task, or another one, gives one back. */
    NO_BUFFER
  }

  private final FetchContext context;
  private final DescriptorReader descriptors;
  private final ReadWindow window;
  private final LeftBlocks left;
  private final Runnable wake;
  private long waitedNs;

  /**
   * Until when the task waits for a buffer, from its first wait on: an empty pool must not keep each
   * list waiting. Null after a list has found one.
   */
  private @Nullable Deadline patience;

  /**
   * @param wake called when the outcome of a list is told; it must not block
   */
  ListPoster(
      FetchContext context,
      DescriptorReader descriptors,
      ReadWindow window,
      LeftBlocks left,
      Runnable wake) {
    this.context = context;
    this.descriptors = descriptors;
    this.window = window;
    this.left = left;
    this.wake = wake;
  }

  /** Nanoseconds for which the task has waited for descriptors and buffers so far. */
  long waitedNs() {
    return waitedNs;
  }

  /**
   * Posts the next list of a peer, if it has one and need not wait for blocks in flight.
   *
   * @param holdsBuffers whether the task will give back a buffer without waiting for one
   */
  Outcome post(PeerBlocks peer, Connection connection, boolean holdsBuffers)
      throws IOException, InterruptedException, TimeoutException {
    Deadline postBy = context.progressDeadline();
    while (peer.hasMore() && resolve(peer, connection, postBy)) {
      int most = Math.min(window.blocksOf(peer), MAX_BLOCKS_OF_A_LIST);
      ReadSlot slot = new ReadSlot(peer, most, wake);
      boolean posted = false;
      try {
        plan(slot, most);
        if (slot.blocks() == 0 && isWaitingForOthers(peer)) {
          return Outcome.NOT_NOW;
        }
        if (slot.blocks() > 0 && !acquire(slot, holdsBuffers)) {
          return Outcome.NO_BUFFER;
        }
        posted = slot.blocks() > 0 && post(connection, slot, postBy);
      } finally {
        if (!posted) {
          putBack(slot);
        }
      }
      if (posted) {
        window.add(slot);
        return Outcome.POSTED;
      }
    }
    return Outcome.NOT_NOW;
  }

  /**
   * Reads the descriptors of the blocks to come, if that of the next one is not known or its lease is
   * over.
   *
   * @return false if no block is left
   */
  private boolean resolve(PeerBlocks peer, Connection connection, Deadline postBy)
      throws IOException, InterruptedException, TimeoutException {
    while (peer.hasMore() && find(peer, peer.peek()) == null) {
      if (postBy.expired()) {
        throw new TimeoutException("no READ from " + peer.peer + " could be posted in time");
      }
      List<PendingBlock> unknown = new ArrayList<>();
      peer.forEachToCome(RESOLVED_AT_ONCE, block -> {
        if (find(peer, block) == null) {
          unknown.add(new PendingBlock(new BlockRequest(
              block,
              peer.output(block),
              peer.startPartition(block),
              peer.endPartition(block),
              null)));
        }
      });
      long start = System.nanoTime();
      descriptors.resolve(
          connection, unknown, (block, why) -> left.drop(peer, block, why.tcpReason(), why));
      waitedNs += System.nanoTime() - start;
      for (PendingBlock block : unknown) {
        if (block.isResolved()) {
          peer.resolve(Math.toIntExact(block.request.tag()), block.descriptor());
        }
      }
    }
    return peer.hasMore();
  }

  /** What this task or another one has read of the block's map output, if its lease is not over. */
  private @Nullable KnownDescriptor find(PeerBlocks peer, int block) {
    KnownDescriptor known = peer.known(block);
    if (known != null) {
      return known;
    }
    KnownDescriptor cached =
        context.cache().find(peer.peer.endpoint().bootNonce(), peer.output(block));
    if (cached == null
        || cached.lease().expired()
        || !cached.covers(peer.startPartition(block), peer.endPartition(block))) {
      return null;
    }
    peer.resolve(block, cached);
    return cached;
  }

  /** Takes up to {@code most} blocks of the peer, as far as they are known and the limits allow. */
  private void plan(ReadSlot slot, int most) {
    PeerBlocks peer = slot.peer;
    while (peer.hasMore() && slot.blocks() < most) {
      int block = peer.peek();
      KnownDescriptor known = find(peer, block);
      if (known == null) {
        break;
      }
      long lengthBytes = known.lengthBytes(peer.startPartition(block), peer.endPartition(block));
      if (lengthBytes == 0) {
        left.add(peer, peer.take(), TcpReason.ZERO_LENGTH, new IOException("the block is empty"));
      } else if (!context.fitsInMemory(lengthBytes)) {
        leaveTooLarge(peer, lengthBytes);
      } else if (!window.admits(slot, lengthBytes)) {
        break;
      } else if (slot.add(block, known, context.planLimits())) {
        peer.take();
      } else if (slot.blocks() == 0) {
        leaveTooLarge(peer, lengthBytes);
      } else {
        break;
      }
    }
  }

  /** Whether the limits keep the next block waiting for blocks in flight. */
  private boolean isWaitingForOthers(PeerBlocks peer) {
    return peer.hasMore() && find(peer, peer.peek()) != null;
  }

  private void leaveTooLarge(PeerBlocks peer, long lengthBytes) {
    left.add(
        peer,
        peer.take(),
        TcpReason.TOO_LARGE,
        new IOException("a block of " + lengthBytes + " bytes does not fit into one buffer"));
  }

  /**
   * Gives the slot a buffer. The task waits for one only if it holds none; if none comes in time, the
   * blocks are left and the slot is empty. False if the blocks must wait.
   */
  private boolean acquire(ReadSlot slot, boolean holdsBuffers) throws InterruptedException {
    long start = System.nanoTime();
    try {
      RegisteredBuffer buffer = context.buffers().tryAcquire(slot.totalBytes());
      if (buffer == null && holdsBuffers) {
        return false;
      }
      if (buffer == null) {
        patience = patience == null ? context.poolDeadline() : patience;
        buffer = context.buffers().acquire(slot.totalBytes(), patience);
      }
      patience = null;
      slot.hold(buffer);
      return true;
    } catch (IOException e) {
      for (int i = 0; i < slot.blocks(); i++) {
        left.add(slot.peer, slot.block(i), TcpReason.POOL, e);
      }
      slot.clear();
      return true;
    } finally {
      waitedNs += System.nanoTime() - start;
    }
  }

  /** Gives up the slot's buffer and puts its blocks back, none of which has been posted. */
  private static void putBack(ReadSlot slot) {
    slot.release();
    for (int i = 0; i < slot.blocks(); i++) {
      slot.peer.putBack(slot.block(i));
    }
  }

  private static boolean post(Connection connection, ReadSlot slot, Deadline postBy)
      throws NoConnectionException, TimeoutException, InterruptedException {
    return FetchContext.post(connection, slot.reads(), slot.buffer(), slot, slot.lease(), postBy);
  }
}
