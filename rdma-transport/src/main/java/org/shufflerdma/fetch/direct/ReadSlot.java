/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.fetch.read.FetchStats;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TaskTimes;
import org.shufflerdma.staging.StagingClient;

/**
 * Blocks of one peer that come into one buffer. The task's thread has them read, and takes them out; the
 * outcome is told by any thread, which only notes it and wakes the task. The slot holds its buffer until
 * {@link #release}.
 */
abstract class ReadSlot {
  final PeerBlocks peer;

  /** Whom the blocks are read from, also if those of the peer have been moved to a node service since. */
  final PeerId from;

  private final Runnable wake;
  private final int[] blocks;
  private final int[] offsets;
  private int count;
  private int totalBytes;
  private int next;

  private @Nullable RegisteredBuffer buffer;

  private final long createdNs = System.nanoTime();
  private long toldNs;
  private volatile boolean told;
  private volatile @Nullable ReadFailure failure;

  /**
   * @param wake called when the outcome is told; it must not block
   */
  ReadSlot(PeerBlocks peer, int maxBlocks, Runnable wake) {
    this.peer = peer;
    this.from = peer.peer();
    this.wake = wake;
    this.blocks = new int[maxBlocks];
    this.offsets = new int[maxBlocks + 1];
  }

  /** Adds a block behind those that are there; there is room for it. */
  final void append(int block, int lengthBytes) {
    blocks[count] = block;
    totalBytes = Math.addExact(totalBytes, lengthBytes);
    offsets[++count] = totalBytes;
  }

  /** Whether other blocks of the peer come from somebody else by now. */
  final boolean isOfFormerOwner() {
    return !from.equals(peer.peer());
  }

  final boolean isFull() {
    return count == blocks.length;
  }

  final int blocks() {
    return count;
  }

  final int block(int index) {
    return blocks[index];
  }

  /** The blocks of which nothing has come if this is given up. */
  int[] allBlocks() {
    return Arrays.copyOf(blocks, count);
  }

  /** Ends the hold on the buffer, and puts the blocks back, to be read again: the task has consumed none of them. */
  final void putBack() {
    release();
    for (int block : allBlocks()) {
      peer.putBack(block);
    }
  }

  /** Forgets the blocks, which are not read. */
  final void clear() {
    count = 0;
    totalBytes = 0;
  }

  final int totalBytes() {
    return totalBytes;
  }

  /** The bytes for which this counts while it is in flight. */
  long bytesInFlight() {
    return totalBytes;
  }

  /** The blocks for which this counts while it is in flight; always the same. */
  int blocksInFlight() {
    return count;
  }

  /** Whether this slot has the place of a request at the peer. */
  boolean holdsLoanOf(StagingClient client) {
    return false;
  }

  /** The slot takes over the caller's hold on the buffer. */
  final void hold(RegisteredBuffer sink) {
    buffer = sink;
  }

  final boolean hasBuffer() {
    return buffer != null;
  }

  final RegisteredBuffer buffer() {
    if (buffer == null) {
      throw new IllegalStateException("the slot has no buffer");
    }
    return buffer;
  }

  /** Whether some block has not been taken out. */
  final boolean hasNext() {
    return next < count;
  }

  /** Takes out the next block; returns its place in this slot. */
  final int take() {
    return next++;
  }

  final long offset(int index) {
    return offsets[index];
  }

  final int lengthBytes(int index) {
    return offsets[index + 1] - offsets[index];
  }

  final ByteBuffer bytes(int index) {
    return buffer().nioBuffer(offset(index), lengthBytes(index));
  }

  /** Whether the bytes of a block, all of which have come, have its checksum. The time of some is taken. */
  final boolean isRight(int index, FetchStats stats, TaskTimes times) {
    int blocksTimed = FetchStats.blocksTimedBy(lengthBytes(index));
    if (blocksTimed == 0) {
      return isRight(index);
    }
    long startNs = System.nanoTime();
    boolean isRight = isRight(index);
    long ns = System.nanoTime() - startNs;
    stats.checksumTimes.record(ns, blocksTimed);
    times.add(TaskTime.CHECKSUM, ns * blocksTimed);
    return isRight;
  }

  /** The same, without the time. */
  abstract boolean isRight(int index);

  /** Whether the block is to blame for the failure of the READs, and not to be read again. */
  abstract boolean isCulprit(int index, ReadFailure why);

  final boolean isTold() {
    return told;
  }

  /** Whether the task has something to do for it. */
  boolean isReady() {
    return told;
  }

  /** Whether somebody else has to do something before its READs can be posted. */
  boolean needsOwner() {
    return false;
  }

  /** Whether nothing can come before the owner has memory for it. */
  boolean waitsForMemoryOfOwner() {
    return false;
  }

  /** Null if the READs succeeded. */
  final @Nullable ReadFailure failure() {
    return failure;
  }

  final void tell(@Nullable ReadFailure why) {
    failure = why;
    toldNs = System.nanoTime();
    told = true;
    wake.run();
  }

  /** Nanoseconds from planning to completion. Valid once told. */
  final long readNs() {
    return toldNs - createdNs;
  }

  /** The block was first tried in this slot, unless it was tried before. */
  final void noteAttempt(int block) {
    peer.noteAttempt(block, createdNs);
  }

  /** Whether its READs were posted before that point in {@link System#nanoTime}. */
  final boolean wasPostedBefore(long timeNs) {
    return createdNs - timeNs < 0;
  }

  /** Ends the hold on the buffer, to which READs that nobody waits for may still write. */
  void release() {
    RegisteredBuffer held = buffer;
    buffer = null;
    if (held != null) {
      held.release();
    }
  }
}
