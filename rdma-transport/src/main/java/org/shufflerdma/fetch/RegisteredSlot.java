/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.ReadCompletion;
import org.shufflerdma.connection.ReadFailure;

/**
 * Blocks of registered map outputs, which one list of READs brings. The task's thread builds and posts the
 * list; its outcome is told by any thread.
 */
final class RegisteredSlot extends ReadSlot implements ReadCompletion {
  private final List<Read> reads = new ArrayList<>();
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
  boolean add(int block, KnownDescriptor known, ReadPlan.Limits limits) {
    int start = peer.startPartition(block);
    Pieces pieces = peer.pieces(block);
    long from = known.remoteAddress(start) + (pieces == null ? 0 : pieces.doneBytes());
    int lengthBytes = Math.toIntExact(bytesToCome(block, known, limits));
    if (blocks() > 0
        && (isFull() || (long) totalBytes() + lengthBytes > limits.sharedBufferBytes())) {
      return false;
    }
    if (!read(from, known.header().dataRkey(), lengthBytes, limits)) {
      return false;
    }
    append(block, lengthBytes);
    lease = lease == null ? known.lease() : lease.orSooner(known.lease());
    return true;
  }

  /** How many bytes of the block are read next: all, or those of its next piece. */
  long bytesToCome(int block, KnownDescriptor known, ReadPlan.Limits limits) {
    long blockBytes = known.lengthBytes(peer.startPartition(block), peer.endPartition(block));
    Pieces pieces = peer.pieces(block);
    return pieces == null ? blockBytes : pieces.bytesToCome(blockBytes, limits.maxReadBytes());
  }

  /** Appends the READs of an extent, or widens the last READ by it. False if there is no room. */
  private boolean read(long remoteAddress, int rkey, int lengthBytes, ReadPlan.Limits limits) {
    int last = reads.size() - 1;
    if (last >= 0) {
      Read before = reads.get(last);
      if (before.rkey() == rkey
          && before.remoteAddress() + before.lengthBytes() == remoteAddress
          && (long) before.lengthBytes() + lengthBytes <= limits.maxReadBytes()) {
        int merged = before.lengthBytes() + lengthBytes;
        reads.set(last, new Read(before.remoteAddress(), rkey, merged, before.sinkOffset()));
        return true;
      }
    }
    int needed = 1 + (lengthBytes - 1) / limits.maxReadBytes();
    if (reads.size() + needed > limits.maxReads()) {
      return false;
    }
    for (int done = 0; done < lengthBytes; ) {
      int length = Math.min(limits.maxReadBytes(), lengthBytes - done);
      reads.add(new Read(remoteAddress + done, rkey, length, (long) totalBytes() + done));
      done += length;
    }
    return true;
  }

  List<Read> reads() {
    return reads;
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
    if (!why.hasCulprit()) {
      return false;
    }
    Read read = reads.get(why.culprit());
    return offset(index) < read.sinkOffset() + read.lengthBytes()
        && read.sinkOffset() < offset(index + 1);
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
