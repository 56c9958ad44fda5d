/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.ReadCompletion;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.fetch.descriptor.Pieces;
import org.shufflerdma.staging.StagedLoan;
import org.shufflerdma.staging.StagingClient;

/**
 * Blocks that their owner stages: those that fit into one loan together, or a larger one alone, which
 * comes in pieces of a loan each. The task's thread has them staged and reads them; answers and
 * completions come in any thread.
 */
final class StagedSlot extends ReadSlot {
  /** Between two questions whether the owner's host is there, at least. */
  private static final int ASKING_PAUSE_MS = 1_000;

  /** What is staged in one loan, or read from it. */
  final class Piece implements ReadCompletion {
    final StagedLoan loan;
    private final long askedNs = System.nanoTime();

    /** Where it begins in the slot's buffer. */
    final long offset;

    private boolean posted; // touched by the task's thread alone
    private volatile boolean completed;
    private volatile @Nullable ReadFailure why;

    private Piece(StagedLoan loan, long offset) {
      this.loan = loan;
      this.offset = offset;
    }

    boolean isLate(int timeoutMs) {
      return System.nanoTime() - askedNs > TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    }

    boolean isToBePosted() {
      return !posted && loan.isAnswered();
    }

    /** The device has the READ, whose completion returns the loan. */
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
      loan.release();
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
  private long hostAskedNs;
  private volatile boolean isHostBeingAsked;
  private long grownBytes;
  final PlaceWait placeWait = new PlaceWait();

  private final int pieceBytes;

  /** Bytes of the slot for which pieces have been asked. */
  private long askedBytes;

  /** Where pieces begin that have been staged, but were not read in time. */
  private final Queue<Long> toAskAgain = new ArrayDeque<>();

  /** Bytes of the slot that have been read. */
  private long readBytes;

  /**
   * @param connection by which the loans are read
   * @param wanted the blocks that are about to be asked for
   * @param loan in which they are to be staged
   * @param maxBytes that one loan is to have
   */
  StagedSlot(
      PeerBlocks peer,
      Connection connection,
      StagingClient client,
      int[] wanted,
      StagedLoan loan,
      int maxBytes,
      Runnable wake) {
    super(peer, wanted.length, wake);
    this.connection = connection;
    this.hostAskedNs = System.nanoTime();
    this.client = client;
    this.wanted = wanted;
    this.pieceBytes = Math.min(loan.sizeBytes(), maxBytes);
    this.wake = wake;
    add(loan, nextToAsk());
  }

  @Override
  long bytesInFlight() {
    return pieceBytes + grownBytes;
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
  boolean holdsLoanOf(StagingClient of) {
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
  int pieceBytes() {
    return pieceBytes;
  }

  /** Whether its one block comes in several pieces. */
  boolean isLarge() {
    return totalBytes() > pieceBytes;
  }

  /** A loan is about to be asked for, with the bytes of the slot from {@code offset} on. */
  void add(StagedLoan loan, long offset) {
    pieces.add(new Piece(loan, offset));
  }

  /**
   * Whether the owner has been silent for so long about a piece that its host is to be asked. The caller does that then, and tells
   * when it has been.
   */
  boolean beginToAskHost(Piece piece) {
    long nowNs = System.nanoTime();
    long silentNs = nowNs - Math.max(piece.askedNs, hostAskedNs);
    int afterMs = Math.max(ASKING_PAUSE_MS, connection.hostAskedAfterMs());
    if (isHostBeingAsked
        || piece.loan.waitMs() > 0 // the owner has said so
        || silentNs < TimeUnit.MILLISECONDS.toNanos(afterMs)) {
      return false;
    }
    isHostBeingAsked = true;
    hostAskedNs = nowNs;
    return true;
  }

  /** Any thread may call. */
  void hostHasBeenAsked() {
    isHostBeingAsked = false;
  }

  /** The piece has been staged and was not read in time. */
  void askAgain(Piece piece) {
    pieces.remove(piece);
    piece.loan.release();
    toAskAgain.add(piece.offset);
  }

  /** How many bytes the piece has. */
  int lengthBytes(Piece piece) {
    return (int) Math.min(pieceBytes, totalBytes() - piece.offset);
  }

  List<Piece> pieces() {
    return pieces;
  }

  /** Whether more pieces of the slot's one block are to be asked for. */
  boolean hasMoreToAsk() {
    return !toAskAgain.isEmpty() || askedBytes < totalBytes();
  }

  /** Where the next piece begins that is to be asked for, from now on as if it had been. */
  long nextToAsk() {
    Long again = toAskAgain.poll();
    if (again != null) {
      return again;
    }
    long next = askedBytes;
    askedBytes += pieceBytes;
    return next;
  }

  /** A part of the slot has this checksum. The parts are noted in their order within a piece. */
  void expect(long offset, int lengthBytes, int checksum) {
    sums.add(new Sum(offset, lengthBytes, checksum));
  }

  /** Whether the owner still has something to do for the slot, or a loan of it is still to be read. */
  @Override
  boolean needsOwner() {
    return isUnknown() || hasMoreToAsk() || pieces.stream().anyMatch(piece -> !piece.posted);
  }

  @Override
  boolean waitsForMemoryOfOwner() {
    return pieces.stream().anyMatch(piece -> piece.loan.waitMs() > 0);
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
      peer.stagedInVain = 0;
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
    Pieces handedOut = peer.pieces(block(index));
    if (handedOut != null) {
      handedOut.takeAll(lengthBytes(index));
    }
    return true;
  }

  /** The READs are of loans, which say nothing of the blocks in them. */
  @Override
  boolean isCulprit(int index, ReadFailure why) {
    return false;
  }

  /** Returns the loans, but for those that a READ still reads from. */
  @Override
  void release() {
    for (Piece piece : pieces) {
      if (!piece.posted) {
        piece.loan.release();
      }
    }
    pieces.clear();
    super.release();
  }
}
