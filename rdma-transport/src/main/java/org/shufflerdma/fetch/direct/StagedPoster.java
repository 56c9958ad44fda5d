/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.PeerFailure;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.read.ReadList;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TaskTimes;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.staging.RegisteredOutput;
import org.shufflerdma.staging.StagedLoan;
import org.shufflerdma.staging.StagedRange;
import org.shufflerdma.staging.StagingClient;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has the owner of blocks that are not registered stage them in memory that it lends, and READs them from there.
 * Used by the task's thread alone, but for the workers, who ask hosts whether they are there.
 */
final class StagedPoster {
  private static final Logger LOG = LoggerFactory.getLogger(StagedPoster.class);

  static final int MAX_BLOCKS_OF_A_LOAN = 256;

  /** The pieces of a large block that are staged or read at a time. */
  private static final int PIECES_AHEAD = 3;

  /** Loans of a peer that were over before they could be read, in a row. */
  private static final int MAX_STAGED_IN_VAIN = 64;

  /** A block that is wanted in a file takes no larger buffer of others, as it comes in one when it is staged. */
  private static final int MAX_BYTES_WITHOUT_PIECES = 16 << 20;

  private final FetchContext context;
  private final TaskBuffers buffers;
  private final ReadWindow window;
  private final LeftBlocks left;
  private final Consumer<PeerBlocks> again;
  private final StagingConnects connects;
  private final Function<StagingClient, TaskFetches.Room> others;
  private final TaskTimes times;
  private final Runnable wake;

  /** Whether something has happened since {@link #advance} was called last. */
  private volatile boolean woken;

  /**
   * @param services have the node service of an owner's host serve its blocks if no control connection can be made
   * @param again is told of a peer one of whose blocks is to be staged again
   * @param others has the task's other fetches return the loans of a peer that they hold ahead
   * @param hasEnded whether the task needs no connection any more; any thread may call it
   * @param times is told for what the task has waited
   * @param wake called when an owner has answered, or READs have completed; it must not block
   */
  StagedPoster(
      FetchContext context,
      TaskBuffers buffers,
      ReadWindow window,
      LeftBlocks left,
      ServiceRoute services,
      Consumer<PeerBlocks> again,
      Function<StagingClient, TaskFetches.Room> others,
      BooleanSupplier hasEnded,
      TaskTimes times,
      Runnable wake) {
    this.context = context;
    this.buffers = buffers;
    this.window = window;
    this.left = left;
    this.again = again;
    this.others = others;
    this.times = times;
    this.wake = () -> {
      woken = true;
      wake.run();
    };
    this.connects = new StagingConnects(context, left, services, hasEnded, this.wake);
  }

  /** Asks for the next blocks of the peer, if it may be asked for more. */
  ListPoster.Outcome ask(PeerBlocks peer, Connection connection) {
    if (waitsForMemoryOf(peer)) {
      return ListPoster.Outcome.NOT_NOW; // its next peer comes first
    }
    int most = Math.min(window.blocksOf(peer), peer.blocksOfALoan);
    StagingClient client = most == 0 ? null : connects.clientOf(peer, connection);
    if (client == null) {
      return ListPoster.Outcome.NOT_NOW;
    }
    StagedLoan loan = isWantedByALargeBlock(client) ? null : placeAt(peer, client);
    if (loan == null) {
      return ListPoster.Outcome.NOT_NOW;
    }
    List<Integer> blocks = new ArrayList<>();
    List<StagedRange> ranges = new ArrayList<>();
    while (peer.hasMoreToStage() && blocks.size() < most) {
      int block = peer.takeToStage();
      blocks.add(block);
      ranges.add(rangeOf(peer, block, 0));
    }
    int[] wanted = blocks.stream().mapToInt(Integer::intValue).toArray();
    int maxBytes = window.bytesOfAList(context.readLimits().sharedBufferBytes());
    StagedSlot slot = new StagedSlot(peer, connection, client, wanted, loan, maxBytes, wake);
    window.add(slot);
    loan.ask(ranges, slot.pieceBytes());
    return ListPoster.Outcome.POSTED;
  }

  private boolean waitsForMemoryOf(PeerBlocks peer) {
    return window.staged().stream()
        .anyMatch(slot -> slot.peer == peer && slot.waitsForMemoryOfOwner());
  }

  private static StagedRange rangeOf(PeerBlocks peer, int block, long fromByte) {
    return new StagedRange(
        peer.output(block).name(), peer.startPartition(block), peer.endPartition(block), fromByte);
  }

  /** Whether a block of this task that has come in part waits for a place: it holds a buffer, and comes first. */
  private boolean isWantedByALargeBlock(StagingClient client) {
    return window.staged().stream()
        .anyMatch(slot -> slot.client == client && slot.placeWait.waits());
  }

  /** The place of a request at the peer; null if the task must wait for one, or has waited for too long. */
  private @Nullable StagedLoan placeAt(PeerBlocks peer, StagingClient client) {
    StagedLoan loan = tryTake(client);
    peer.tryFrom(System.nanoTime());
    if (loan != null) {
      peer.placeWait.ended();
    } else if (client.isOpen() && peer.placeWait.isOver(context.progressTimeoutMs())) {
      IOException why = noPlace();
      connects.giveUp(client, why);
      left.addAllToStage(peer, TcpReason.STAGING, why);
    }
    return loan;
  }

  private IOException noPlace() {
    return new IOException("all requests that the peer allows have been under way for "
        + context.progressTimeoutMs() + " ms");
  }

  /** The place of a request at the peer; null if there is none. */
  private @Nullable StagedLoan tryTake(StagingClient client) {
    StagedLoan loan = client.tryTake(wake);
    if (loan == null && client.hasTerms() && others.apply(client) == TaskFetches.Room.GIVEN_BACK) {
      loan = client.tryTake(wake);
    }
    return loan;
  }

  /** Does what {@link #advance} does if there may be something to do. */
  void advanceIfWoken() throws InterruptedException {
    if (woken) {
      advance();
    }
  }

  /** READs what has been staged, and asks for more of large blocks. */
  void advance() throws InterruptedException {
    woken = false;
    for (StagedSlot slot : window.staged()) {
      if (!slot.isTold()) {
        try {
          advance(slot);
        } catch (RuntimeException e) {
          LOG.error("Blocks that {} has staged could not be read", slot.peer.peer(), e);
          leaveAll(slot, TcpReason.INTERNAL, e);
        }
      }
    }
  }

  private void advance(StagedSlot slot) throws InterruptedException {
    NoConnectionException breakage = slot.connection.breakage();
    if (breakage != null
        && breakage.failure() == PeerFailure.PEER_UNREACHABLE
        && slot.needsOwner()
        && !slot.isOfFormerOwner()) {
      leaveAll(slot, breakage.failure().tcpReason(), breakage);
      return;
    }
    if (!slot.client.isOpen() && slot.needsOwner()) {
      askAgain(slot);
      return;
    }
    for (StagedSlot.Piece piece : List.copyOf(slot.pieces())) {
      if (piece.isToBePosted()) {
        if (!read(slot, piece)) {
          return;
        }
      } else if (!piece.loan.isAnswered() && !waitForOwner(slot, piece)) {
        return;
      }
    }
    slot.settle();
    if (!slot.isTold() && !slot.isUnknown()) {
      askForMore(slot);
    }
  }

  /** False if the blocks go another way, as it would take the owner too long to stage them. */
  private boolean waitForOwner(StagedSlot slot, StagedSlot.Piece piece) {
    int timeoutMs = context.progressTimeoutMs();
    int waitMs = piece.loan.waitMs();
    boolean isLate = piece.isLate(timeoutMs);
    if (waitMs > timeoutMs / 2 || (isLate && waitMs > 0)) {
      IOException why = new IOException(
          "the memory of " + slot.from + " for staging is used by others, for " + waitMs + " ms");
      leaveAll(slot, TcpReason.STAGING, why);
      if (!slot.isOfFormerOwner()) {
        left.addAllToStage(slot.peer, TcpReason.STAGING, why);
      }
      return false;
    }
    if (slot.beginToAskHost(piece)) {
      context.connects().execute(slot.from, () -> askHost(slot));
    }
    if (isLate) {
      IOException why = new IOException("the peer has staged nothing for " + timeoutMs + " ms");
      if (!slot.isOfFormerOwner()) {
        connects.askNoMore(slot.peer);
      }
      connects.giveUp(slot.client, why);
    }
    return true;
  }

  /** Runs in a worker. */
  private void askHost(StagedSlot slot) {
    try {
      if (!context.closed().getAsBoolean()) {
        slot.connection.breakIfHostIsLost();
      }
    } finally {
      slot.hostHasBeenAsked();
      wake.run();
    }
  }

  /** Asks for the next pieces of a block that is larger than a loan. */
  private void askForMore(StagedSlot slot) {
    while (slot.hasMoreToAsk() && slot.pieces().size() < PIECES_AHEAD) {
      StagedLoan loan = tryTake(slot.client);
      if (loan == null) {
        if (slot.placeWait.isOver(context.progressTimeoutMs())) {
          leaveAll(slot, TcpReason.STAGING, noPlace());
        }
        return;
      }
      slot.placeWait.ended();
      long offset = slot.nextToAsk();
      slot.add(loan, offset);
      loan.ask(List.of(rangeOf(slot.peer, slot.block(0), offset)), slot.pieceBytes());
    }
  }

  /** Begins the READ of a piece; false if nothing can be done for its slot now, or any more. */
  private boolean read(StagedSlot slot, StagedSlot.Piece piece) throws InterruptedException {
    if (piece.loan.failure() != null) {
      askAgain(slot);
      return false;
    }
    if (piece.loan.lease().expired()) {
      return stageAgain(slot, piece);
    }
    List<StagedLoan.Range> ranges = piece.loan.ranges();
    if (slot.isUnknown()) {
      layOut(slot, ranges);
      if (slot.isUnknown()) { // none of its blocks has been staged
        drop(slot);
        return false;
      }
    } else if (!isWhole(slot, piece, ranges)) {
      leaveAll(slot, TcpReason.STAGING, new IOException("a part of a block could not be staged"));
      return false;
    }
    return (slot.hasBuffer() || lease(slot)) && post(slot, piece, ranges);
  }

  /** The task was too busy to read a piece in time. False if it is done with the slot. */
  private boolean stageAgain(StagedSlot slot, StagedSlot.Piece piece) {
    if (++slot.peer.stagedInVain > MAX_STAGED_IN_VAIN) {
      leaveAll(slot, TcpReason.STAGING, new IOException("no READ could be posted in time"));
      return false;
    }
    if (slot.isLarge()) {
      slot.askAgain(piece);
      return true;
    }
    putBackAll(slot);
    return false;
  }

  /** Notes which of the wanted blocks have been staged, and how long they are. */
  private void layOut(StagedSlot slot, List<StagedLoan.Range> ranges) {
    PeerBlocks peer = slot.peer;
    peer.blocksOfALoan = ranges.size() < slot.blocksInFlight()
        ? ranges.size() + 1
        : Math.min(2 * peer.blocksOfALoan, MAX_BLOCKS_OF_A_LOAN);
    for (int i = 0; i < slot.blocksInFlight(); i++) {
      int block = slot.wanted(i);
      if (i >= ranges.size()) {
        peer.putBack(block); // there was no room for it
        again.accept(peer);
        continue;
      }
      StagedLoan.Range range = ranges.get(i);
      noteRegistered(slot, block, range.registered());
      if (!range.isStaged()) {
        leave(slot, block, TcpReason.STAGING, new IOException("its owner could not read it"));
      } else if (range.lengthBytes() == 0) {
        leave(slot, block, TcpReason.ZERO_LENGTH, new IOException("the block is empty"));
      } else if (!context.fitsInMemory(range.lengthBytes())
          || (peer.pieces(block) != null && range.lengthBytes() > MAX_BYTES_WITHOUT_PIECES)) {
        leave(
            slot,
            block,
            TcpReason.TOO_LARGE,
            new IOException(
                "a staged block of " + range.lengthBytes() + " bytes is not read into one buffer"));
      } else {
        slot.append(block, Math.toIntExact(range.lengthBytes()));
      }
    }
  }

  /** Has later fetches read the block's map output where its owner says that it is registered by now. */
  private void noteRegistered(StagedSlot slot, int block, @Nullable RegisteredOutput at) {
    if (at != null) {
      DescriptorRef output = slot.peer.output(block);
      context
          .cache()
          .locate(
              slot.from.endpoint().bootNonce(),
              new DescriptorRef(
                  at.address(),
                  at.rkey(),
                  at.generation(),
                  output.shuffleId(),
                  output.mapId(),
                  at.partitions()));
    }
  }

  /** Whether a piece of a large block is all that it was to be. */
  private static boolean isWhole(
      StagedSlot slot, StagedSlot.Piece piece, List<StagedLoan.Range> ranges) {
    if (!slot.isLarge()) {
      return true;
    }
    StagedLoan.Range only = ranges.get(0);
    return only.isStaged()
        && only.lengthBytes() == slot.totalBytes()
        && only.stagedBytes() == slot.lengthBytes(piece);
  }

  /** False if the slot must wait for a buffer, or nothing is left of it. */
  private boolean lease(StagedSlot slot) throws InterruptedException {
    long moreBytes = Math.max(0, slot.totalBytes() - slot.bytesInFlight());
    try {
      RegisteredBuffer buffer =
          window.admitsGrowth(moreBytes) ? buffers.lease(slot.totalBytes(), false) : null;
      slot.waitForBuffer(buffer == null);
      if (buffer == null) {
        if (isWantedByALargeBlock(slot.client)) {
          putBackAll(slot); // that block would wait for this place, and this slot for its buffer
        }
        return false;
      }
      buffers.renewPatience();
      slot.hold(buffer);
      window.grow(slot, moreBytes);
      return true;
    } catch (IOException e) {
      leaveAll(slot, TcpReason.POOL, e);
      return false;
    }
  }

  /** Posts the READ of a piece. False if it could not be posted: it is tried again, or the slot has its outcome. */
  private boolean post(StagedSlot slot, StagedSlot.Piece piece, List<StagedLoan.Range> ranges)
      throws InterruptedException {
    StagedLoan loan = piece.loan;
    if (!loan.beginRead()) {
      return stageAgain(slot, piece);
    }
    boolean isPosted = false;
    try {
      long waitedNs =
          slot.connection.postStaged(readsOf(piece, ranges), slot.buffer(), piece, loan.lease());
      isPosted = true;
      times.add(TaskTime.SEND_QUEUE, waitedNs);
      piece.posted();
      expect(slot, piece, ranges);
    } catch (NoConnectionException e) {
      slot.tell(ReadFailure.collateral(e));
    } catch (TimeoutException e) {
      if (piece.isLate(context.progressTimeoutMs())) {
        leaveAll(slot, TcpReason.TIMEOUT, e);
      }
    } finally {
      if (!isPosted) {
        loan.readNotPosted();
      }
    }
    return isPosted;
  }

  private List<Read> readsOf(StagedSlot.Piece piece, List<StagedLoan.Range> ranges) {
    int stagedBytes = 0;
    for (StagedLoan.Range range : ranges) {
      stagedBytes += range.stagedBytes();
    }
    ReadList reads = new ReadList(piece.offset);
    reads.add(piece.loan.remoteAddress(), piece.loan.rkey(), stagedBytes, context.readLimits());
    return reads.reads();
  }

  private static void expect(
      StagedSlot slot, StagedSlot.Piece piece, List<StagedLoan.Range> ranges) {
    for (StagedLoan.Range range : ranges) {
      if (range.stagedBytes() > 0) {
        slot.expect(piece.offset + range.offsetBytes(), range.stagedBytes(), range.checksum());
      }
    }
  }

  /** The control connection has ended before all of the slot was read. */
  private void askAgain(StagedSlot slot) {
    if (slot.isOfFormerOwner() || connects.countConnection(slot.peer)) {
      putBackAll(slot);
    } else {
      leaveAll(
          slot,
          TcpReason.STAGING,
          new IOException(
              "control connections to " + slot.peer.peer() + " ended before blocks were read"));
    }
  }

  /** Drops the slot, and has its blocks staged again. */
  private void putBackAll(StagedSlot slot) {
    for (int block : slot.allBlocks()) {
      slot.noteAttempt(block);
      slot.peer.putBack(block);
      again.accept(slot.peer);
    }
    drop(slot);
  }

  /** Drops the slot, and leaves its blocks to another way. */
  private void leaveAll(StagedSlot slot, TcpReason reason, Throwable why) {
    for (int block : slot.allBlocks()) {
      leave(slot, block, reason, why);
    }
    slot.clear();
    drop(slot);
  }

  private void leave(StagedSlot slot, int block, TcpReason reason, Throwable why) {
    slot.noteAttempt(block);
    left.add(slot.peer, block, reason, why);
  }

  /** Nothing comes of the slot. */
  private void drop(StagedSlot slot) {
    window.remove(slot);
    slot.release();
  }
}
