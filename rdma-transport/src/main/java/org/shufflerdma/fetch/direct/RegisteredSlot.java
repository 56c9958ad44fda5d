/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.ReadCompletion;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.fetch.descriptor.BlockVerifier;
import org.shufflerdma.fetch.descriptor.KnownDescriptor;
import org.shufflerdma.fetch.descriptor.Pieces;
import org.shufflerdma.fetch.read.ReadLimits;
import org.shufflerdma.fetch.read.ReadList;

/**
 * Blocks of registered map outputs, which one list of READs brings. The task's thread builds and posts the
 * list; its outcome is told by any thread.
 */
final class RegisteredSlot extends ReadSlot implements ReadCompletion {
  private final ReadList reads = new ReadList(0);
  private @Nullable Deadline lease;

  /** Makes an empty slot with room for {@code maxBlocks}. */
  RegisteredSlot(PeerBlocks peer, int maxBlocks, Runnable wake) {
    super(peer, maxBlocks, wake);
  }

  /**
   * Adds a block if it fits the limits together with those that are there.
   *
   * @return false if it did not fit
   */
  boolean add(int block, KnownDescriptor known, ReadLimits limits) {
    int start = peer.startPartition(block);
    Pieces pieces = peer.pieces(block);
    long from = known.remoteAddress(start) + (pieces == null ? 0 : pieces.doneBytes());
    int lengthBytes = Math.toIntExact(bytesToCome(block, known, limits));
    if (isFull() || !reads.add(from, known.header().dataRkey(), lengthBytes, limits)) {
      return false;
    }
    append(block, lengthBytes);
    lease = lease == null ? known.lease() : lease.orSooner(known.lease());
    return true;
  }

  /** How many bytes of the block are read next: all, or those of its next piece. */
  long bytesToCome(int block, KnownDescriptor known, ReadLimits limits) {
    long blockBytes = known.lengthBytes(peer.startPartition(block), peer.endPartition(block));
    Pieces pieces = peer.pieces(block);
    return pieces == null ? blockBytes : pieces.bytesToCome(blockBytes, limits.maxReadBytes());
  }

  List<Read> reads() {
    return reads.reads();
  }

  /** The end of the shortest lease of the blocks' descriptors. */
  Deadline lease() {
    if (lease == null) {
      throw new IllegalStateException("the slot is empty");
    }
    return lease;
  }

  @Override
  boolean isRight(int index) {
    int block = block(index);
    Pieces pieces = peer.pieces(block);
    if (pieces != null) {
      return pieces.take(
          peer.descriptor(block),
          peer.startPartition(block),
          peer.endPartition(block),
          bytes(index));
    }
    BlockVerifier verifier = new BlockVerifier(
        peer.descriptor(block), peer.startPartition(block), peer.endPartition(block));
    verifier.update(bytes(index));
    return verifier.isComplete();
  }

  /** Whether the block has a byte in the READ that broke the connection. */
  @Override
  boolean isCulprit(int index, ReadFailure why) {
    return why.hasCulprit() && reads.brings(why.culprit(), offset(index), offset(index + 1));
  }

  @Override
  public void succeeded() {
    tell(null);
  }

  @Override
  public void failed(ReadFailure why) {
    tell(why);
  }

  /** The task polls. */
  @Override
  public boolean isPolledFor() {
    return true;
  }
}
