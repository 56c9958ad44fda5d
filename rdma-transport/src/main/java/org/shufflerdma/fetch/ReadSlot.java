/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.ReadCompletion;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.memory.RegisteredBuffer;

/**
 * A list of READs of one peer's blocks into one buffer. The task's thread builds and posts it, and
 * takes the blocks out; the outcome is told by any thread, which only notes it and wakes the
 * task. The slot holds its buffer until {@link #release}.
 */
final class ReadSlot implements ReadCompletion {
  final PeerBlocks peer;
  private final Runnable wake;
  private final List<Read> reads = new ArrayList<>();
  private final int[] blocks;
  private final int[] offsets;
  private int count;
  private int totalBytes;
  private int next;

  private @Nullable Deadline lease;
  private @Nullable RegisteredBuffer buffer;

  private final long createdNs = System.nanoTime();
  private long toldNs;
  private volatile boolean told;
  private volatile @Nullable ReadFailure failure;

  /**
   * Makes an empty slot with room for {@code maxBlocks}.
   *
   * @param wake called when the outcome is told; it must not block
   */
  ReadSlot(PeerBlocks peer, int maxBlocks, Runnable wake) {
    this.peer = peer;
    this.wake = wake;
    this.blocks = new int[maxBlocks];
    this.offsets = new int[maxBlocks + 1];
  }

  /**
   * Adds a block if it fits the limits together with those that are there.
   *
   * @return false if it did not fit
   */
  boolean add(int block, KnownDescriptor known, ReadPlan.Limits limits) {
    int start = peer.startPartition(block);
    int end = peer.endPartition(block);
    int lengthBytes = Math.toIntExact(known.lengthBytes(start, end));
    boolean isFirst = count == 0;
    if (!isFirst
        && (count == blocks.length
            || (long) totalBytes + lengthBytes > limits.sharedBufferBytes())) {
      return false;
    }
    if (!read(known.remoteAddress(start), known.header().dataRkey(), lengthBytes, limits)) {
      return false;
    }
    blocks[count] = block;
    totalBytes += lengthBytes;
    offsets[++count] = totalBytes;
    lease = lease == null ? known.lease() : lease.orSooner(known.lease());
    return true;
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
      reads.add(new Read(remoteAddress + done, rkey, length, (long) totalBytes + done));
      done += length;
    }
    return true;
  }

  List<Read> reads() {
    return reads;
  }

  int blocks() {
    return count;
  }

  int block(int index) {
    return blocks[index];
  }

  /** The end of the shortest lease of the blocks' descriptors. */
  Deadline lease() {
    if (lease == null) {
      throw new IllegalStateException("the slot is empty");
    }
    return lease;
  }

  /** Forgets the blocks, which are not read. */
  void clear() {
    count = 0;
  }

  int totalBytes() {
    return totalBytes;
  }

  /** The slot takes over the caller's hold on the buffer. */
  void hold(RegisteredBuffer sink) {
    buffer = sink;
  }

  RegisteredBuffer buffer() {
    if (buffer == null) {
      throw new IllegalStateException("the slot has no buffer");
    }
    return buffer;
  }

  /** Whether some block has not been taken out. */
  boolean hasNext() {
    return next < count;
  }

  /** Takes out the next block; returns its place in this slot. */
  int take() {
    return next++;
  }

  long offset(int index) {
    return offsets[index];
  }

  int lengthBytes(int index) {
    return offsets[index + 1] - offsets[index];
  }

  ByteBuffer bytes(int index) {
    return buffer().nioBuffer(offset(index), lengthBytes(index));
  }

  /** Whether the block has a byte in the READ that broke the connection. */
  boolean isCulprit(int index, ReadFailure why) {
    if (!why.hasCulprit()) {
      return false;
    }
    Read read = reads.get(why.culprit());
    return offset(index) < read.sinkOffset() + read.lengthBytes()
        && read.sinkOffset() < offset(index + 1);
  }

  boolean isTold() {
    return told;
  }

  /** Null if the READs succeeded. */
  @Nullable
  ReadFailure failure() {
    return failure;
  }

  @Override
  public void succeeded() {
    tell();
  }

  @Override
  public void failed(ReadFailure why) {
    failure = why;
    tell();
  }

  /** The task polls. */
  @Override
  public boolean isPolledFor() {
    return true;
  }

  private void tell() {
    toldNs = System.nanoTime();
    told = true;
    wake.run();
  }

  /** Nanoseconds from planning to completion. Valid once told. */
  long readNs() {
    return toldNs - createdNs;
  }

  /** Whether its READs were posted before that point in {@link System#nanoTime}. */
  boolean wasPostedBefore(long timeNs) {
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
