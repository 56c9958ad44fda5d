/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.ReadCompletion;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.staging.StagedChunk;
import org.shufflerdma.staging.StagingClient;

/**
 * Blocks that their owner stages: those that fit into one chunk together, or a larger one alone, which
 * comes in pieces of a chunk each. The task's thread has the chunks staged and reads them; answers and
 * completions come in any thread.
 */
final class StagedSlot extends ReadSlot {
  /** A chunk that is being staged or read. */
  final class Piece implements ReadCompletion {
    private final StagedChunk chunk;
    private final long askedNs = System.nanoTime();

    /** Where it begins in the slot's buffer. */
    private final long offset;

    private boolean posted; // touched by the task's thread alone
    private volatile boolean completed;
    private volatile @Nullable ReadFailure why;

    private Piece(StagedChunk chunk, long offset) {
      this.chunk = chunk;
      this.offset = offset;
    }

    StagedChunk chunk() {
      return chunk;
    }

    long offset() {
      return offset;
    }

    boolean isLate(int timeoutMs) {
      return System.nanoTime() - askedNs > TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    }

    boolean isToBePosted() {
      return !posted && chunk.isAnswered();
    }

    /** The device has the READ, whose completion gives back the chunk. */
    void posted() {
      posted = true;
    }

    private boolean isReady() {
      return completed || isToBePosted();
    }

    @Override
    public void succeeded() {
      completed(null);
    }

    @Override
    public void failed(ReadFailure failure) {
      completed(failure);
    }

    private void completed(@Nullable ReadFailure failure) {
      why = failure;
      completed = true;
      chunk.release();
      wake.run();
    }

    /** The task polls. */
    @Override
    public boolean isPolledFor() {
      return true;
    }
  }

  private record Sum(long offset, int lengthBytes, int checksum) {}

  final Connection connection;
  final StagingClient client;
  private final int[] wanted;
  private final Runnable wake;

  // Touched by the task's thread alone.
  private final List<Piece> pieces = new ArrayList<>();
  private final List<Sum> sums = new ArrayList<>();
  private boolean waitsForBuffer;
  private long grownBytes;
  final CreditWait creditWait = new CreditWait();

  private final int chunkBytes;

  /** Bytes of the slot for which pieces have been asked. */
  private long askedBytes;

  /** Bytes of the slot that have been read. */
  private long readBytes;

  /**
   * @param connection by which the chunks are read
   * @param wanted the blocks that are about to be asked for
   * @param chunk in which they are to be staged
   * @param maxBytes that one chunk is to have
   */
  StagedSlot(
      PeerBlocks peer,
      Connection connection,
      StagingClient client,
      int[] wanted,
      StagedChunk chunk,
      int maxBytes,
      Runnable wake) {
    super(peer, wanted.length, wake);
    this.connection = connection;
    this.client = client;
    this.wanted = wanted;
    this.chunkBytes = Math.min(chunk.sizeBytes(), maxBytes);
    this.wake = wake;
    add(chunk);
  }

  @Override
  long bytesInFlight() {
    return chunkBytes + grownBytes;
  }

  /** {@link ReadWindow#grow} calls this. */
  void grow(long moreBytes) {
    grownBytes += moreBytes;
  }

  @Override
  int blocksInFlight() {
    return wanted.length;
  }

  int wanted(int index) {
    return wanted[index];
  }

  @Override
  boolean holdsCreditOf(StagingClient of) {
    return client == of && !pieces.isEmpty();
  }

  /** Those that were asked for, or once the owner has answered, those of them that were staged. */
  @Override
  int[] allBlocks() {
    return isUnknown() ? wanted.clone() : super.allBlocks();
  }

  /** Whether the owner's first answer has not been looked at. */
  boolean isUnknown() {
    return blocks() == 0;
  }

  /** The bytes that each piece has, but for the last. */
  int chunkBytes() {
    return chunkBytes;
  }

  /** A chunk is about to be asked for, with the bytes of the slot from {@link #askedBytes} on. */
  void add(StagedChunk chunk) {
    pieces.add(new Piece(chunk, askedBytes));
    askedBytes += chunkBytes;
  }

  /** How many bytes the piece has. */
  int lengthBytes(Piece piece) {
    return (int) Math.min(chunkBytes, totalBytes() - piece.offset);
  }

  List<Piece> pieces() {
    return pieces;
  }

  /** Whether more pieces of the slot's one block are to be asked for. */
  boolean hasMoreToAsk() {
    return askedBytes < totalBytes();
  }

  long askedBytes() {
    return askedBytes;
  }

  /** A part of the slot has this checksum. The parts are noted in their order within a piece. */
  void expect(long offset, int lengthBytes, int checksum) {
    sums.add(new Sum(offset, lengthBytes, checksum));
  }

  /** Whether the owner still has something to do for the slot, or a chunk of it is still to be read. */
  @Override
  boolean needsOwner() {
    return isUnknown() || hasMoreToAsk() || pieces.stream().anyMatch(piece -> !piece.posted);
  }

  void waitForBuffer(boolean waits) {
    waitsForBuffer = waits;
  }

  @Override
  boolean isReady() {
    return isTold() || (!waitsForBuffer && pieces.stream().anyMatch(Piece::isReady));
  }

  /** Takes in the READs that have completed, and tells the outcome after the last one. */
  void settle() {
    for (Iterator<Piece> each = pieces.iterator(); each.hasNext(); ) {
      Piece piece = each.next();
      if (piece.completed) {
        each.remove();
        ReadFailure failure = piece.why;
        if (failure != null) {
          tell(failure);
          return;
        }
        readBytes += lengthBytes(piece);
      }
    }
    if (!isUnknown() && readBytes == totalBytes()) {
      peer.controlConnections = 0;
      tell(null);
    }
  }

  /** The owner computed the checksums when it staged the bytes. */
  @Override
  boolean isRight(int index) {
    boolean isOneBlock = blocks() == 1;
    for (int i = isOneBlock ? 0 : index; i < (isOneBlock ? sums.size() : index + 1); i++) {
      Sum sum = sums.get(i);
      ByteBuffer bytes = buffer().nioBuffer(sum.offset(), sum.lengthBytes());
      CRC32C checksum = new CRC32C();
      checksum.update(bytes);
      if ((int) checksum.getValue() != sum.checksum()) {
        return false;
      }
    }
    return true;
  }

  /** The READs are of chunks, which say nothing of the blocks in them. */
  @Override
  boolean isCulprit(int index, ReadFailure why) {
    return false;
  }

  /** Gives back the chunks, but for those that a READ still reads from. */
  @Override
  void release() {
    for (Piece piece : pieces) {
      if (!piece.posted) {
        piece.chunk.release();
      }
    }
    pieces.clear();
    super.release();
  }
}
