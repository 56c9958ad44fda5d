/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the blocks of one reduce task in that task's own thread, which plans and posts the READs,
 * verifies the bytes and consumes them: no block passes through another thread. Workers only connect
 * to peers. A block is read a second time if its connection broke or its checksum did not match, and
 * is left to the caller if that fails as well, or if it cannot be read at all.
 *
 * <p>One thread at a time calls {@link #next} and the methods that describe its block; any thread may
 * call {@link #close}, which the owner must.
 */
public final class DirectFetch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DirectFetch.class);

  /** The lists that are read while the task consumes one. */
  private static final int LISTS_AHEAD = 2;

  /** A list that takes longer no longer keeps others from being posted: its peer may be in trouble. */
  private static final long SLOW_NS = TimeUnit.MILLISECONDS.toNanos(100);

  /** The blocks whose descriptors are read at a time, about as many as the lists in flight take. */
  private static final int RESOLVED_AT_ONCE = 128;

  /** The peers to which the task has connections made at a time; more might be idle before their turn. */
  private static final int CONNECTING_AT_ONCE = 4;

  /** More blocks than READs, because neighbours share one. */
  private static final int MAX_BLOCKS_OF_A_LIST = 256;

  /** Attempts to connect, and connections without a list that was read, in a row. */
  private static final int MAX_FAILED_CONNECTS = 2;

  private static final int MAX_UNUSED_CONNECTIONS = 8;
  private static final long WAIT_NS = TimeUnit.MILLISECONDS.toNanos(100);

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

  private final FetchContext context;
  private final DescriptorReader descriptors;
  private final Deque<PeerBlocks> peers;
  private final Limits limits;
  private final Runnable whileWaiting;
  private final Deque<ReadSlot> inFlight = new ArrayDeque<>();
  private final List<LeftBlock> left = new ArrayList<>();
  private final long total;
  private long settled;
  private final AtomicInteger connecting = new AtomicInteger();
  private long bytesInFlight;
  private long waitedNs;
  private long readNs;

  /**
   * Until when the task waits for a buffer, from its first wait on: an empty pool must not keep each
   * list waiting. Null after a list has found one.
   */
  private @Nullable Deadline patience;

  /** Whether a list or a descriptor waits for a buffer that this task holds itself. */
  private boolean isShortOfBuffers;

  private @Nullable ReadSlot current;
  private int place;
  private @Nullable RegisteredSlice bytes;

  private final AtomicBoolean busy = new AtomicBoolean();
  private volatile boolean closed;
  private volatile @Nullable Thread waiter;

  DirectFetch(
      FetchContext context,
      DescriptorReader descriptors,
      List<PeerBlocks> peers,
      Limits limits,
      Runnable whileWaiting) {
    this.context = context;
    this.descriptors = descriptors;
    this.peers = new ArrayDeque<>(peers);
    this.total = peers.stream().mapToLong(PeerBlocks::size).sum();
    this.limits = limits;
    this.whileWaiting = whileWaiting;
  }

  /**
   * Takes the next block, whichever has come, and gives up the one before.
   *
   * @return false if there are no more blocks but those in {@link #left}
   * @throws IllegalStateException if this is closed, or another thread is in this method
   */
  public boolean next() throws InterruptedException {
    if (!busy.compareAndSet(false, true)) {
      throw new IllegalStateException(
          "another thread reads the blocks of this task, or has ended it");
    }
    try {
      waiter = Thread.currentThread();
      return findNext();
    } finally {
      waiter = null;
      busy.set(false);
      if (closed) {
        giveUpOnce();
      }
    }
  }

  private boolean findNext() throws InterruptedException {
    giveUpBytes();
    while (true) {
      if (closed) {
        throw new IllegalStateException("the task has ended");
      }
      ReadSlot slot = current;
      if (slot == null) {
        postAhead();
        slot = takeTold();
        current = slot;
        postAhead();
      }
      if (slot == null) {
        if (inFlight.isEmpty() && peers.isEmpty()) {
          requireAllSettled();
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
    if (settled != total) {
      throw new IllegalStateException(settled + " of " + total + " blocks have been read or left");
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

  /** The bytes of that block, which have been verified. Valid until the next call of {@link #next}. */
  public RegisteredSlice bytes() {
    if (bytes == null) {
      throw new IllegalStateException("no block has been taken");
    }
    return bytes;
  }

  private ReadSlot taken() {
    if (current == null) {
      throw new IllegalStateException("no block has been taken");
    }
    return current;
  }

  /** The blocks that could not be read so far; the caller may take them out. */
  public List<LeftBlock> left() {
    return left;
  }

  /** The time in nanoseconds for which the task has waited for blocks so far. */
  public long waitedNs() {
    return waitedNs;
  }

  /** The sum of the times in nanoseconds from posting a list to its completion so far. */
  public long readNs() {
    return readNs;
  }

  /**
   * Ends the fetch: from now on only the device holds buffers to which READs may still write. If
   * another thread is in {@link #next}, that call throws an exception and gives the buffers back.
   */
  @Override
  public void close() {
    closed = true;
    wake();
    giveUpOnce();
  }

  private void giveUpOnce() {
    if (busy.compareAndSet(false, true)) { // stays so: there is nothing left to read
      giveUpBytes();
      if (current != null) {
        current.release();
        current = null;
      }
      inFlight.forEach(ReadSlot::release);
      inFlight.clear();
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
    long start = System.nanoTime();
    LockSupport.parkNanos(this, WAIT_NS);
    waitedNs += System.nanoTime() - start;
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    whileWaiting.run();
  }

  /** Delivers the next block of the slot that is right; false if there is none. */
  private boolean deliver(ReadSlot slot) {
    while (slot.hasNext()) {
      place = slot.take();
      int block = slot.block(place);
      try {
        if (isRight(slot, block)) {
          context.stats().blocksDelivered.increment();
          context.stats().bytesDelivered.add(slot.lengthBytes(place));
          bytes = slot.buffer().slice(slot.offset(place), slot.lengthBytes(place));
          settled++;
          slot.peer.resolve(block, null);
          return true;
        }
        context.stats().checksumMismatches.increment();
        forget(slot.peer, block);
        repeat(
            slot.peer,
            block,
            TcpReason.CHECKSUM,
            new IOException(
                "the checksum of a block of " + slot.peer.output(block) + " did not match twice"));
      } catch (RuntimeException e) {
        leave(slot.peer, block, TcpReason.INTERNAL, e);
      }
    }
    return false;
  }

  private boolean isRight(ReadSlot slot, int block) {
    PeerBlocks peer = slot.peer;
    BlockVerifier verifier = new BlockVerifier(
        peer.descriptor(block), peer.startPartition(block), peer.endPartition(block));
    verifier.update(slot.bytes(place));
    return verifier.isComplete();
  }

  /** Takes a slot whose READs have been carried out; null if there is none yet. */
  private @Nullable ReadSlot takeTold() {
    Iterator<ReadSlot> slots = inFlight.iterator();
    while (slots.hasNext()) {
      ReadSlot slot = slots.next();
      if (slot.isTold()) {
        slots.remove();
        bytesInFlight -= slot.totalBytes();
        slot.peer.blocksInFlight -= slot.blocks();
        ReadFailure failure = slot.failure();
        readNs += slot.readNs();
        if (failure == null) {
          slot.peer.failedConnects = 0;
          slot.peer.connections = 0;
          return slot;
        }
        slot.release();
        afterFailure(slot, failure);
        return takeTold();
      }
    }
    return null;
  }

  private void afterFailure(ReadSlot slot, ReadFailure failure) {
    IOException cause = new IOException(failure.toString(), failure.breakage());
    for (int i = 0; i < slot.blocks(); i++) {
      int block = slot.block(i);
      if (slot.isCulprit(i, failure)) {
        forget(slot.peer, block);
        leave(slot.peer, block, failure.tcpReason(), cause);
      } else {
        repeatAfterBreakage(slot.peer, block, failure.breakage(), cause);
      }
    }
  }

  private void repeatAfterBreakage(
      PeerBlocks peer, int block, NoConnectionException breakage, IOException cause) {
    TcpReason reason = breakage.failure().tcpReason();
    if (breakage.failure().isWorthReconnecting()) {
      repeat(peer, block, reason, cause);
    } else {
      leave(peer, block, reason, cause);
    }
  }

  /** Has a block read a second time, or leaves it if that has been done. */
  private void repeat(PeerBlocks peer, int block, TcpReason reason, IOException cause) {
    if (peer.repeat(block)) {
      context.stats().retries.increment();
      if (!peers.contains(peer)) {
        peers.add(peer);
      }
    } else {
      leave(peer, block, reason, cause);
    }
  }

  private void forget(PeerBlocks peer, int block) {
    context.cache().forget(peer.peer.endpoint().bootNonce(), peer.output(block));
  }

  private void leave(PeerBlocks peer, int block, TcpReason reason, Throwable cause) {
    left.add(new LeftBlock(peer, block, reason, cause));
    peer.resolve(block, null);
    settled++;
  }

  private void leaveAll(PeerBlocks peer, TcpReason reason, Throwable cause) {
    while (peer.hasMore()) {
      leave(peer, peer.take(), reason, cause);
    }
  }

  /** Posts lists, of one peer after the other, as far as the limits allow. */
  private void postAhead() throws InterruptedException {
    int candidates = peers.size();
    isShortOfBuffers = false;
    while (candidates > 0 && !isShortOfBuffers && mayPost()) {
      PeerBlocks peer = peers.remove();
      boolean posted = false;
      try {
        posted = postFrom(peer);
      } finally {
        if (peer.hasMore()) {
          peers.add(peer);
        }
      }
      candidates = posted ? peers.size() : candidates - 1;
    }
  }

  private boolean mayPost() {
    if (inFlight.size() < LISTS_AHEAD || inFlight.size() >= limits.maxListsInFlight()) {
      return inFlight.size() < limits.maxListsInFlight();
    }
    long thenNs = System.nanoTime() - SLOW_NS;
    return inFlight.stream().filter(slot -> !slot.wasPostedBefore(thenNs)).count() < LISTS_AHEAD;
  }

  private boolean holdsBuffers() {
    return current != null || !inFlight.isEmpty();
  }

  /** Posts a list of a peer; false if none can be posted now. */
  private boolean postFrom(PeerBlocks peer) throws InterruptedException {
    try {
      if (context.closed().getAsBoolean()) {
        leaveAll(peer, TcpReason.CLOSED, new IOException("the fetcher is closed"));
        return false;
      }
      Connection connection = connectionTo(peer);
      return connection != null && post(peer, connection);
    } catch (ReadsFailedException e) {
      afterFailure(peer, e);
    } catch (NoConnectionException e) {
      afterRefusal(peer, e);
    } catch (TimeoutException e) {
      leaveAll(peer, TcpReason.TIMEOUT, e);
    } catch (IOException e) { // no buffer for the descriptors
      isShortOfBuffers = holdsBuffers();
      if (!isShortOfBuffers) {
        leaveAll(peer, TcpReason.POOL, e);
      }
    } catch (RuntimeException e) {
      LOG.error("The blocks of {} could not be read by RDMA", peer.peer, e);
      leaveAll(peer, TcpReason.INTERNAL, e);
    }
    return false;
  }

  /** Returns the open connection, or has a worker make one and returns null. */
  private @Nullable Connection connectionTo(PeerBlocks peer) throws NoConnectionException {
    if (peer.connecting) {
      return null;
    }
    Throwable refusal = peer.refusal;
    if (refusal != null) {
      peer.refusal = null;
      if (refusal instanceof NoConnectionException known) {
        throw known;
      }
      throw new IllegalStateException("the attempt to connect failed unexpectedly", refusal);
    }
    Connection connection = context.connections().openConnection(peer.peer, peer.tcpAddress);
    if (connection == null && connecting.get() < CONNECTING_AT_ONCE) {
      if (++peer.connections > MAX_UNUSED_CONNECTIONS) {
        leaveAll(
            peer,
            TcpReason.CONNECTION_LOST,
            new IOException("connections to " + peer.peer + " ended before they were used"));
        return null;
      }
      peer.connecting = true;
      connecting.incrementAndGet();
      context.lanes().execute(peer.peer, () -> connect(peer));
    }
    return connection;
  }

  /** Runs in a worker. */
  private void connect(PeerBlocks peer) {
    try {
      if (!closed && !context.closed().getAsBoolean()) {
        context
            .connections()
            .connect(peer.peer, peer.tcpAddress, () -> closed, context.progressDeadline());
      }
    } catch (InterruptedException e) { // the fetcher is being closed, which the task sees by itself
      Thread.currentThread().interrupt();
    } catch (Throwable t) {
      peer.refusal = t;
    } finally {
      connecting.decrementAndGet();
      peer.connecting = false;
      wake();
    }
  }

  private void afterRefusal(PeerBlocks peer, NoConnectionException refusal) {
    peer.failedConnects++;
    if (peer.failedConnects >= MAX_FAILED_CONNECTS || !refusal.failure().isWorthReconnecting()) {
      leaveAll(peer, refusal.failure().tcpReason(), refusal);
    }
  }

  private void afterFailure(PeerBlocks peer, ReadsFailedException why) {
    for (PendingBlock culprit : why.culprits()) {
      context.forget(peer.peer, culprit);
      drop(peer, culprit, why.failure().tcpReason(), why);
    }
    afterRefusal(peer, why.failure().breakage());
  }

  private void drop(PeerBlocks peer, PendingBlock block, TcpReason reason, Throwable cause) {
    int number = Math.toIntExact(block.request.tag());
    peer.drop(number);
    leave(peer, number, reason, cause);
  }

  /** Posts the next list of a peer. False if it has none, or must wait for blocks in flight. */
  private boolean post(PeerBlocks peer, Connection connection)
      throws IOException, InterruptedException, TimeoutException {
    Deadline postBy = context.progressDeadline();
    while (peer.hasMore() && resolve(peer, connection, postBy)) {
      int most = Math.min(limits.maxBlocksPerPeer() - peer.blocksInFlight, MAX_BLOCKS_OF_A_LIST);
      ReadSlot slot = new ReadSlot(peer, Math.max(0, most), this::wake);
      boolean posted = false;
      try {
        plan(slot, most);
        boolean waits = slot.blocks() == 0 ? isWaitingForOthers(peer) : !acquire(slot);
        if (waits) {
          return false;
        }
        posted = slot.blocks() > 0 && post(connection, slot, postBy);
      } finally {
        if (!posted) {
          putBack(slot);
        }
      }
      if (posted) {
        inFlight.add(slot);
        bytesInFlight += slot.totalBytes();
        peer.blocksInFlight += slot.blocks();
        return true;
      }
    }
    return false;
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
          connection, unknown, (block, why) -> drop(peer, block, why.tcpReason(), why));
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
        leave(peer, peer.take(), TcpReason.ZERO_LENGTH, new IOException("the block is empty"));
      } else if (!context.fitsInMemory(lengthBytes)) {
        leaveTooLarge(peer, lengthBytes);
      } else if (isBeyondLimit(slot, lengthBytes)) {
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
    leave(
        peer,
        peer.take(),
        TcpReason.TOO_LARGE,
        new IOException("a block of " + lengthBytes + " bytes does not fit into one buffer"));
  }

  private boolean isBeyondLimit(ReadSlot slot, long moreBytes) {
    return (slot.blocks() > 0 || !inFlight.isEmpty())
        && bytesInFlight + slot.totalBytes() + moreBytes > limits.maxBytesInFlight();
  }

  /**
   * Gives the slot a buffer. The task waits for one only if it holds none; if none comes in time, the
   * blocks are left and the slot is empty. False if the blocks must wait.
   */
  private boolean acquire(ReadSlot slot) throws InterruptedException {
    long start = System.nanoTime();
    try {
      RegisteredBuffer buffer = context.buffers().tryAcquire(slot.totalBytes());
      if (buffer == null && holdsBuffers()) {
        isShortOfBuffers = true;
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
        leave(slot.peer, slot.block(i), TcpReason.POOL, e);
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

  /** Posts the slot's READs; false if the lease ended first. */
  private static boolean post(Connection connection, ReadSlot slot, Deadline postBy)
      throws NoConnectionException, TimeoutException, InterruptedException {
    return FetchContext.post(connection, slot.reads(), slot.buffer(), slot, slot.lease(), postBy);
  }
}
