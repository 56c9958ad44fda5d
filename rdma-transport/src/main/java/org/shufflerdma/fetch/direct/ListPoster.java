/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.io.IOException;
import java.util.concurrent.TimeoutException;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.fetch.descriptor.KnownDescriptor;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TaskTimes;
import org.shufflerdma.metrics.TcpReason;

/**
 * Turns the next blocks of a peer into a posted list of READs: it asks where they are, plans, and leases
 * the buffer. Used by the task's thread alone.
 */
final class ListPoster {
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
  private final DescriptorExtents extents;
  private final TaskBuffers buffers;
  private final ReadWindow window;
  private final LeftBlocks left;
  private final TaskTimes times;
  private final Runnable wake;
  private long waitedNs;

  /**
   * @param times is told for what the task has waited
   * @param wake called when the outcome of a list is told; it must not block
   */
  ListPoster(
      FetchContext context,
      DescriptorExtents extents,
      TaskBuffers buffers,
      ReadWindow window,
      LeftBlocks left,
      TaskTimes times,
      Runnable wake) {
    this.context = context;
    this.extents = extents;
    this.buffers = buffers;
    this.window = window;
    this.left = left;
    this.times = times;
    this.wake = wake;
  }

  /** Nanoseconds for which the task has waited for extents and buffers so far. */
  long waitedNs() {
    return waitedNs;
  }

  /** Posts the next list of a peer, if it has one and need not wait for blocks in flight. */
  Outcome post(PeerBlocks peer, Connection connection)
      throws DescriptorReader.ReadsFailedException, NoConnectionException, InterruptedException,
          TimeoutException {
    Deadline postBy = context.progressDeadline();
    while (locate(peer, connection, postBy)) {
      int most = Math.min(window.blocksOf(peer), MAX_BLOCKS_OF_A_LIST);
      RegisteredSlot slot = new RegisteredSlot(peer, most, wake);
      boolean posted = false;
      try {
        plan(slot, most);
        if (slot.blocks() == 0 && isWaitingForOthers(peer)) {
          return Outcome.NOT_NOW;
        }
        if (slot.blocks() > 0 && !acquire(slot)) {
          return Outcome.NO_BUFFER;
        }
        posted = slot.blocks() > 0 && post(connection, slot, postBy);
      } finally {
        if (!posted) {
          slot.putBack();
        }
      }
      if (posted) {
        window.add(slot);
        return Outcome.POSTED;
      }
    }
    return peer.hasMore() ? Outcome.NO_BUFFER : Outcome.NOT_NOW;
  }

  /** Whether the peer has a block that can be posted. */
  private boolean locate(PeerBlocks peer, Connection connection, Deadline postBy)
      throws DescriptorReader.ReadsFailedException, NoConnectionException, InterruptedException,
          TimeoutException {
    long start = System.nanoTime();
    long forBuffersNs = buffers.waitedNs();
    peer.tryFrom(start);
    try {
      return extents.locate(peer, connection, postBy);
    } finally {
      long ns = System.nanoTime() - start;
      waitedNs += ns;
      times.add(TaskTime.READ, ns - (buffers.waitedNs() - forBuffersNs));
    }
  }

  /** Takes up to {@code most} blocks of the peer, as far as they are known and the limits allow. */
  private void plan(RegisteredSlot slot, int most) {
    PeerBlocks peer = slot.peer;
    while (peer.hasMore() && slot.blocks() < most) {
      int block = peer.peek();
      KnownDescriptor known = extents.find(peer, block);
      if (known == null) {
        break;
      }
      long lengthBytes = slot.bytesToCome(block, known, context.readLimits());
      if (lengthBytes == 0) {
        left.add(peer, peer.take(), TcpReason.ZERO_LENGTH, new IOException("the block is empty"));
      } else if (!context.fitsInMemory(lengthBytes)) {
        leaveTooLarge(peer, lengthBytes);
      } else if (!window.admits(slot, lengthBytes)) {
        break;
      } else if (slot.add(block, known, context.readLimits())) {
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
    return peer.hasMore() && extents.find(peer, peer.peek()) != null;
  }

  private void leaveTooLarge(PeerBlocks peer, long lengthBytes) {
    left.add(
        peer,
        peer.take(),
        TcpReason.TOO_LARGE,
        new IOException("a block of " + lengthBytes + " bytes does not fit into one buffer"));
  }

  /**
   * Gives the slot a buffer. If none comes in time, the blocks are left and the slot is empty. False
   * if the blocks must wait until the task gives back a buffer.
   */
  private boolean acquire(ReadSlot slot) throws InterruptedException {
    long start = System.nanoTime();
    try {
      RegisteredBuffer buffer = buffers.lease(slot.totalBytes(), false);
      if (buffer == null) {
        return false;
      }
      buffers.renewPatience();
      slot.hold(buffer);
      return true;
    } catch (IOException e) {
      for (int i = 0; i < slot.blocks(); i++) {
        slot.noteAttempt(slot.block(i));
        left.add(slot.peer, slot.block(i), TcpReason.POOL, e);
      }
      slot.clear();
      return true;
    } finally {
      waitedNs += System.nanoTime() - start;
    }
  }

  private boolean post(Connection connection, RegisteredSlot slot, Deadline postBy)
      throws NoConnectionException, TimeoutException, InterruptedException {
    long waited =
        FetchContext.post(connection, slot.reads(), slot.buffer(), slot, slot.lease(), postBy);
    if (waited == FetchContext.LEASE_ENDED) {
      return false;
    }
    if (waited > 0) {
      times.add(TaskTime.SEND_QUEUE, waited);
    }
    return true;
  }
}
