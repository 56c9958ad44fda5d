/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.fetch.descriptor.Pieces;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TaskTimes;
import org.shufflerdma.metrics.TcpReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads blocks in the thread that takes them, which plans and posts the READs, polls for their completions, and verifies the bytes:
 * that of a reduce task, or a worker of a fetch in the background. No block passes through another thread.
 * A block is read a second time if its connection broke or its checksum did not match, and is left to the
 * caller if that fails as well, or if it cannot be read at all.
 *
 * <p>One thread at a time calls {@link #next} and the methods that describe its block; any thread may
 * call {@link #close}, which the owner must.
 */
public final class DirectFetch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DirectFetch.class);

  private static final long WAIT_NS = TimeUnit.MILLISECONDS.toNanos(100);

  /** A block that could not be read, and why. */
  public record LeftBlock(PeerBlocks peer, int block, TcpReason reason, Throwable cause) {}

  /**
   * The limits that the task sets.
   *
   * @param maxBytesInFlight bytes of READs, unless one block alone is larger
   * @param maxListsInFlight lists of READs
   * @param maxBlocksPerPeer blocks in flight from one peer
   */
  public record Limits(long maxBytesInFlight, int maxListsInFlight, int maxBlocksPerPeer) {
    public Limits {
      if (maxBytesInFlight <= 0 || maxListsInFlight <= 0 || maxBlocksPerPeer <= 0) {
        throw new IllegalArgumentException(
            "%d bytes, %d lists and %d blocks of a peer in flight, all of which must be positive"
                .formatted(maxBytesInFlight, maxListsInFlight, maxBlocksPerPeer));
      }
    }
  }

  /** Who uses the fetch. Whoever leaves it, or ends another use while this is closed, gives up everything. */
  private enum Use {
    NONE,
    NEXT,
    /** Briefly, by a thread that is in another fetch of the task. */
    GIVING_WAY,
    ENDED
  }

  private final FetchContext context;
  private final TaskFetches ofTask;
  private final Deque<PeerBlocks> peers;
  private final TaskTimes times = new TaskTimes();
  private final LeftBlocks left;
  private final ReadWindow window;
  private final TaskConnections connections;
  private final ListPoster poster;
  private final StagedPoster stager;
  private final ServiceRoute services;
  private final FailedReads failed;
  private final Runnable whileWaiting;
  private final long total;
  private long handedOut;
  private long parkedNs;

  /** What has ended a wait because nobody wants the blocks any more. */
  private @Nullable RuntimeException unwanted;

  private @Nullable ReadSlot current;
  private int place;
  private @Nullable RegisteredSlice bytes;

  private final AtomicReference<Use> use = new AtomicReference<>(Use.NONE);
  private volatile boolean closed;
  private volatile @Nullable Thread waiter;

  /**
   * Makes a fetch. The caller closes it.
   *
   * @param ofTask the task's other fetches
   * @param peers the blocks of each peer, in the order in which the peers take turns
   * @param whileWaiting called about every 100 ms while the task waits; what it throws ends the wait
   */
  public DirectFetch(
      FetchContext context,
      TaskFetches ofTask,
      List<PeerBlocks> peers,
      Limits limits,
      Runnable whileWaiting) {
    this.context = context;
    this.ofTask = ofTask;
    this.left = new LeftBlocks(context.stats(), times);
    this.peers = new ArrayDeque<>(peers);
    peers.forEach(peer -> peer.isInLine = true);
    this.total = peers.stream().mapToLong(PeerBlocks::size).sum();
    this.window = new ReadWindow(
        limits, () -> ofTask.shareOf(context.buffers().budgetBytes()), context.poller()::poll);
    this.services = new ServiceRoute(context, left, () -> closed, this::wake);
    this.failed = new FailedReads(context, left, services, this::queue);
    this.connections = new TaskConnections(context, left, services, this::wake);
    TaskBuffers buffers = new TaskBuffers(
        context, this::holdsBuffers, () -> ofTask.makeRoomFor(this, ReadSlot::hasBuffer), times);
    this.poster = new ListPoster(
        context,
        new DescriptorExtents(context, peers.size(), buffers, left, this::stopIfUnwanted),
        buffers,
        window,
        left,
        times,
        this::wake);
    this.stager = new StagedPoster(
        context,
        buffers,
        window,
        left,
        services,
        this::queue,
        client -> ofTask.makeRoomFor(this, slot -> slot.holdsLoanOf(client)),
        () -> closed,
        times,
        this::wake);
    this.whileWaiting = whileWaiting;
    // Those of one peer say which partitions the task reads of all.
    peers.stream()
        .filter(peer -> peer.size() > 0)
        .findFirst()
        .ifPresent(peer -> peer.noteAsked(context.cache().neighbourhoods()));
    ofTask.opened(this);
  }

  /**
   * Takes the next block, whichever has come, and gives up the one before.
   *
   * @return false if there are no more blocks but those in {@link #left}
   * @throws IllegalStateException if this is closed, or another thread is in this method
   */
  public boolean next() throws InterruptedException {
    while (!use.compareAndSet(Use.NONE, Use.NEXT)) {
      if (use.get() == Use.NEXT || use.get() == Use.ENDED) {
        throw new IllegalStateException(
            "another thread reads the blocks of this task, or has ended it");
      }
      Thread.onSpinWait();
    }
    try {
      waiter = Thread.currentThread();
      return findNext();
    } finally {
      waiter = null;
      leave();
    }
  }

  private void leave() {
    use.set(Use.NONE);
    if (closed) {
      giveUpOnce();
    }
  }

  /**
   * Gives up lists that the task does not consume yet, for another fetch of the task; their blocks are read
   * again later. Does nothing while a thread is in {@link #next}, which gets on by itself.
   *
   * @param isLacked which lists hold what the other fetch lacks
   */
  TaskFetches.Room giveWay(Predicate<ReadSlot> isLacked) {
    if (!use.compareAndSet(Use.NONE, Use.GIVING_WAY)) {
      return TaskFetches.Room.NOTHING_HELD;
    }
    try {
      List<ReadSlot> given = window.take(isLacked);
      for (ReadSlot slot : given) {
        slot.putBack();
        queue(slot.peer);
      }
      if (!given.isEmpty()) {
        return TaskFetches.Room.GIVEN_BACK;
      }
      return current != null && isLacked.test(current)
          ? TaskFetches.Room.KEPT
          : TaskFetches.Room.NOTHING_HELD;
    } finally {
      leave();
    }
  }

  private boolean findNext() throws InterruptedException {
    giveUpBytes();
    stager.advanceIfWoken();
    while (true) {
      if (closed) {
        throw new IllegalStateException("the task has ended");
      }
      ReadSlot slot = current;
      if (slot == null) {
        postAhead();
        slot = takeRead();
        current = slot;
        if (postAhead()) {
          context.poller().poll(); // a device that copies in the post is done with it
        }
      }
      if (slot == null) {
        if (window.isEmpty() && peers.isEmpty() && !connections.hasWaiting()) {
          requireAllSettled();
          connections.end();
          return false;
        }
        await();
      } else if (deliver(slot)) {
        return true;
      } else {
        current = null;
        slot.release();
      }
    }
  }

  /** A block that is neither handed out nor left would be missing from the task's result. */
  private void requireAllSettled() {
    if (handedOut + left.added() != total) {
      throw new IllegalStateException(
          "of %d blocks %d were handed out and %d left".formatted(total, handedOut, left.added()));
    }
  }

  /** The peer whose block {@link #next} has taken. */
  public PeerBlocks peer() {
    return taken().peer;
  }

  /** The number of that block in {@link #peer}. */
  public int block() {
    return taken().block(place);
  }

  /**
   * The bytes of that block, which have been verified, or of a piece of it, which are only verified once the last one has come.
   * Valid until the next call of {@link #next}.
   */
  public RegisteredSlice bytes() {
    if (bytes == null) {
      throw new IllegalStateException("no block has been taken");
    }
    return bytes;
  }

  /** Whether no more pieces of that block follow. */
  public boolean isLastPiece() {
    return peer().isOver(block());
  }

  /** How many bytes of that block have been taken, with these. */
  public long bytesOfBlock() {
    Pieces pieces = peer().pieces(block());
    return pieces == null ? bytes().lengthBytes() : pieces.doneBytes();
  }

  /** Has no more pieces of that block read. */
  public void skipRest() {
    if (!isLastPiece()) {
      peer().drop(block());
      peer().endPieces(block());
      handedOut++;
    }
  }

  /** Where that block has come from. */
  public Origin origin() {
    if (taken() instanceof RegisteredSlot) {
      return Origin.REGISTERED;
    }
    return taken().from.executorId().equals(PeerId.NODE_SERVICE)
        ? Origin.NODE_SERVICE
        : Origin.STAGED;
  }

  private ReadSlot taken() {
    if (current == null) {
      throw new IllegalStateException("no block has been taken");
    }
    return current;
  }

  /** The blocks that could not be read so far; the caller may take them out. */
  public List<LeftBlock> left() {
    return left.blocks();
  }

  /** The time in nanoseconds for which the task has waited for blocks so far. */
  public long waitedNs() {
    return parkedNs + poster.waitedNs();
  }

  /** What the task has lost time by so far; in the end after {@link #close}. */
  public TaskTimes times() {
    return times;
  }

  /**
   * Ends the fetch: from now on only the device holds buffers to which READs may still write. If
   * another thread is in {@link #next}, that call throws an exception and gives the buffers back.
   */
  @Override
  public void close() {
    closed = true;
    ofTask.closed(this);
    wake();
    giveUpOnce();
  }

  private void giveUpOnce() {
    if (use.compareAndSet(Use.NONE, Use.ENDED)) {
      connections.end();
      giveUpBytes();
      if (current != null) {
        current.release();
        current = null;
      }
      window.take(slot -> true).forEach(ReadSlot::release);
    }
  }

  private void giveUpBytes() {
    if (bytes != null) {
      bytes.release();
      bytes = null;
    }
  }

  private void wake() {
    LockSupport.unpark(waiter);
  }

  private void await() throws InterruptedException {
    TaskTime awaited = awaited();
    long start = System.nanoTime();
    context.poller().expect();
    try {
      context.poller().poll();
      if (!window.hasReady()
          && !connections.isTold()) { // another wait may have used up the wake-up
        LockSupport.parkNanos(this, WAIT_NS);
      }
    } finally {
      context.poller().expectNoMore();
    }
    long ns = System.nanoTime() - start;
    parkedNs += ns;
    times.add(awaited, ns);
    connections.leaveOverdue();
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    stopIfUnwanted();
  }

  /** Throws if this is closed, or whoever made it has said that it is to end. */
  private void stopIfUnwanted() {
    try {
      if (closed) {
        throw new IllegalStateException("the task has ended");
      }
      whileWaiting.run();
    } catch (RuntimeException e) {
      unwanted = e;
      throw e;
    }
  }

  private TaskTime awaited() {
    if (window.isEmpty()) {
      boolean lacksPlace = peers.stream().anyMatch(peer -> peer.placeWait.waits());
      return lacksPlace ? TaskTime.STAGING : TaskTime.CONNECTION;
    }
    return window.awaitsOwners() ? TaskTime.STAGING : TaskTime.READ;
  }

  /** Delivers the next block of the slot that is right; false if there is none. */
  private boolean deliver(ReadSlot slot) {
    while (slot.hasNext()) {
      place = slot.take();
      int block = slot.block(place);
      try {
        if (slot.isRight(place, context.stats(), times)) {
          bytes = slot.buffer().slice(slot.offset(place), slot.lengthBytes(place));
          if (slot.peer.isOver(block)) {
            handedOut++;
            slot.peer.resolve(block, null);
            slot.peer.endPieces(block);
          } else {
            slot.peer.putBackForNextPiece(block);
            queue(slot.peer);
          }
          return true;
        }
        failed.afterMismatch(slot, block);
      } catch (RuntimeException e) {
        left.add(slot.peer, block, TcpReason.INTERNAL, e);
      }
    }
    return false;
  }

  /** Takes a slot whose READs have been carried out; null if there is none yet. */
  private @Nullable ReadSlot takeRead() throws InterruptedException {
    stager.advance();
    ReadSlot slot;
    while ((slot = pollTold()) != null) {
      slot.peer.readNs += slot.readNs();
      connections.endInterestIfDone(slot.peer);
      ReadFailure failure = slot.failure();
      if (failure == null) {
        slot.peer.haveCome();
        return slot;
      }
      slot.release();
      failed.after(slot, failure);
    }
    return null;
  }

  private @Nullable ReadSlot pollTold() {
    ReadSlot slot = window.takeTold();
    if (slot == null && !window.isEmpty()) {
      context.poller().poll();
      slot = window.takeTold();
    }
    return slot;
  }

  /** The peer has a block to be posted or staged again. */
  private void queue(PeerBlocks peer) {
    if (!peer.isInLine) {
      peer.isInLine = true;
      peers.add(peer);
    }
  }

  /** Posts lists, of one peer after the other, as far as the limits allow; false if that is none. */
  private boolean postAhead() throws InterruptedException {
    boolean posted = false;
    boolean hadRoom = connections.hasUnasked() && window.isOpen();
    peers.addAll(context.closed().getAsBoolean() ? connections.takeAll() : connections.takeReady());
    int candidates = peers.size();
    while (candidates > 0 && window.isOpen() && (!holdsLists() || ofTask.mayReadAhead())) {
      PeerBlocks peer = peers.remove();
      peer.isInLine = false;
      ListPoster.Outcome outcome = ListPoster.Outcome.NOT_NOW;
      try {
        outcome = postFrom(peer);
      } finally {
        if (peer.hasMore() || peer.hasMoreToStage()) {
          queue(peer);
        }
        connections.endInterestIfDone(peer);
      }
      posted |= outcome == ListPoster.Outcome.POSTED;
      candidates = switch (outcome) {
        case POSTED -> peers.size();
        case NOT_NOW -> candidates - 1;
        case NO_BUFFER -> 0;
      };
    }
    if (connections.hasUnasked() && (hadRoom || window.isOpen())) {
      connections.askForMore();
    }
    return posted;
  }

  private boolean holdsLists() {
    return current != null || !window.isEmpty();
  }

  private boolean holdsBuffers() {
    return current != null || window.holdsBuffers();
  }

  private ListPoster.Outcome postFrom(PeerBlocks peer) throws InterruptedException {
    try {
      if (context.closed().getAsBoolean()) {
        left.addAll(peer, TcpReason.CLOSED, new IOException("the fetcher is closed"));
        return ListPoster.Outcome.NOT_NOW;
      }
      if (!services.isOpen(peer) || (!peer.hasMore() && !peer.hasMoreToStage())) {
        return ListPoster.Outcome.NOT_NOW;
      }
      Connection connection = connections.to(peer);
      return connection == null ? ListPoster.Outcome.NOT_NOW : postFrom(peer, connection);
    } catch (DescriptorReader.ReadsFailedException e) {
      failed.after(peer, e);
    } catch (NoConnectionException e) {
      failed.afterRefusal(peer, e);
    } catch (TimeoutException e) {
      failed.leaveAll(peer, TcpReason.TIMEOUT, e);
    } catch (RuntimeException e) {
      if (e == unwanted) {
        throw e;
      }
      LOG.error("The blocks of {} could not be read by RDMA", peer.peer(), e);
      left.addAll(peer, TcpReason.INTERNAL, e);
    }
    return ListPoster.Outcome.NOT_NOW;
  }

  private ListPoster.Outcome postFrom(PeerBlocks peer, Connection connection)
      throws DescriptorReader.ReadsFailedException, NoConnectionException, InterruptedException,
          TimeoutException {
    ListPoster.Outcome outcome =
        peer.hasMore() ? poster.post(peer, connection) : ListPoster.Outcome.NOT_NOW;
    return outcome != ListPoster.Outcome.POSTED && peer.hasMoreToStage()
        ? stager.ask(peer, connection)
        : outcome;
  }
}
