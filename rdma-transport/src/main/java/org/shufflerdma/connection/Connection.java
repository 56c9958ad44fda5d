/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.QueuePairAttributes;
import org.shufflerdma.verbs.ReadBatch;
import org.shufflerdma.verbs.VerbsException;
import org.shufflerdma.verbs.WcStatus;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The initiator's end of one reliable connection, shared by all fetches from its peer. Any thread
 * posts, and the thread that polls handles the completions. It breaks once, for whatever first reason;
 * its owner then takes it down with {@link #destroy}, after which every list that was posted has been
 * told its outcome.
 *
 * <p>No completion is handled under the post lock: a device may do the whole transfer in the post.
 */
public final class Connection {
  private static final Logger LOG = LoggerFactory.getLogger(Connection.class);
  private static final int DRAIN_POLL_MS = 5;

  /** What a post may still take where nothing is drained, as the poller is gone. */
  private static final long MIN_POST_NS = TimeUnit.SECONDS.toNanos(1);

  private final PeerState state;
  private final PeerId peer;
  private final ConnectionId id;
  private final ReadQueuePair queuePair;
  private final PendingReads pending;
  private final CompletionPoller poller;
  private final TransportStats stats;
  private final Consumer<Connection> whenBroken;
  private final SendBudget budget;
  private final ReentrantLock postLock = new ReentrantLock();
  private final ReadBatch batch;
  private final int hostAskedAfterMs;
  private final Map<Long, PostedList> outstanding = new ConcurrentHashMap<>();
  private long lastPosted; // number of a list; guarded by postLock

  /** The number of the list that completed last; the thread that polls writes it. */
  private volatile long lastCompleted;

  private final AtomicReference<@Nullable NoConnectionException> breakage = new AtomicReference<>();
  private volatile long lastProgressNs = System.nanoTime();
  private volatile long handedOutNs = lastProgressNs;
  private volatile boolean verified;

  /**
   * @param state is told of READs of data that were carried out
   * @param whenBroken is called once, by any thread, and must not block
   */
  Connection(
      PeerState state,
      ConnectionId id,
      ReadQueuePair queuePair,
      PendingReads pending,
      CompletionPoller poller,
      TransportStats stats,
      Consumer<Connection> whenBroken,
      TransportSettings settings) {
    this.state = state;
    this.peer = state.peer();
    this.id = id;
    this.queuePair = queuePair;
    this.pending = pending;
    this.poller = poller;
    this.stats = stats;
    this.whenBroken = whenBroken;
    this.budget = new SendBudget(queuePair.depth());
    this.batch = new ReadBatch(settings.readsPerList());
    this.hostAskedAfterMs = settings.hostAskedAfterMs();
  }

  public PeerId peer() {
    return peer;
  }

  PeerState state() {
    return state;
  }

  /** The TCP port at which the peer stages map outputs; 0 if it does not. */
  public int stagingPort() {
    return state.stagingPort();
  }

  public int queuePairNumber() {
    return queuePair.pair().number();
  }

  /** Asks the device for the attributes in force of the queue pair. */
  public QueuePairAttributes attributes() throws VerbsException {
    return queuePair.pair().attributes();
  }

  public boolean isOpen() {
    return breakage.get() == null;
  }

  /** Null while the connection is open. */
  public @Nullable NoConnectionException breakage() {
    return breakage.get();
  }

  /**
   * Posts a list of READs into one buffer, waiting for room in the send queue. When this returns,
   * the completion has been or will be told the outcome, and the buffer is held for the device
   * until then; the caller keeps its own hold. If it throws, nothing was posted and the completion
   * will not be told.
   *
   * @return how many nanoseconds it has waited for room, and for other posts
   * @throws TimeoutException if nothing was posted before the deadline, for example because the queue had
   *     no room: it is that of one caller, who may have spent it elsewhere, so it says nothing about the
   *     connection
   */
  public long post(
      List<Read> reads, RegisteredBuffer sink, ReadCompletion completion, Deadline deadline)
      throws NoConnectionException, TimeoutException, InterruptedException {
    return post(reads, sink, completion, ReadsOf.FILES, deadline);
  }

  /**
   * The same for READs of the peer's own memory, such as its descriptors. Their success does not
   * show that its files can be read, so it does not count in the peer's favour.
   */
  public void postControl(
      List<Read> reads, RegisteredBuffer sink, ReadCompletion completion, Deadline deadline)
      throws NoConnectionException, TimeoutException, InterruptedException {
    post(reads, sink, completion, ReadsOf.RECORDS, deadline);
  }

  /**
   * The same for READs of chunks in which the peer has staged data. Their success does not show that
   * its files can be read, so it does not outweigh failed READs of these.
   */
  public long postStaged(
      List<Read> reads, RegisteredBuffer sink, ReadCompletion completion, Deadline deadline)
      throws NoConnectionException, TimeoutException, InterruptedException {
    return post(reads, sink, completion, ReadsOf.STAGED, deadline);
  }

  private long post(
      List<Read> reads,
      RegisteredBuffer sink,
      ReadCompletion completion,
      ReadsOf readsOf,
      Deadline deadline)
      throws NoConnectionException, TimeoutException, InterruptedException {
    int size = reads.size();
    long waitedNs = budget.tryAcquire(size) ? 0 : awaitPlaces(size, deadline);
    long totalBytes = 0;
    for (Read read : reads) {
      totalBytes += read.lengthBytes();
    }
    PostedList list = new PostedList(this, sink, completion, size, totalBytes, readsOf);
    if (!postLock.tryLock()) {
      waitedNs += lockForPost(size, deadline);
    }
    try {
      if (!isOpen()) {
        budget.release(size);
        throw brokenException();
      }
      long nowNs = System.nanoTime();
      if (deadline.isOver(nowNs)) { // a thread that waits may run again long after its deadline
        budget.release(size);
        throw new TimeoutException("no READ from " + peer + " could be posted in time");
      }
      list.postedNs = nowNs;
      postLocked(reads, list);
      return waitedNs;
    } finally {
      postLock.unlock();
    }
  }

  /**
   * Places become free when completions are taken, which somebody must do while this waits. Returns for how
   * many nanoseconds it has.
   */
  private long awaitPlaces(int places, Deadline deadline)
      throws NoConnectionException, TimeoutException, InterruptedException {
    long startNs = System.nanoTime();
    long waitedNs;
    boolean taken;
    poller.expect();
    try {
      poller.poll();
      taken = budget.acquire(places, deadline);
    } finally {
      poller.expectNoMore();
      waitedNs = stats.sendQueueWaits.recordSince(startNs);
    }
    if (!taken) {
      if (!isOpen()) {
        throw brokenException();
      }
      throw new TimeoutException("the send queue to " + peer + " had no room in time");
    }
    return waitedNs;
  }

  /**
   * Returns for how many nanoseconds it has waited. If it throws, the places in the send queue have been
   * given back.
   */
  private long lockForPost(int places, Deadline deadline)
      throws TimeoutException, InterruptedException {
    long startNs = System.nanoTime();
    long waitedNs;
    boolean locked = false;
    try {
      locked = postLock.tryLock(deadline.remainingNs(), TimeUnit.NANOSECONDS);
    } finally {
      waitedNs = stats.sendQueueWaits.recordSince(startNs);
      if (!locked) {
        budget.release(places);
      }
    }
    if (!locked) {
      throw new TimeoutException("another post to " + peer + " did not end in time");
    }
    return waitedNs;
  }

  private void postLocked(List<Read> reads, PostedList list) throws NoConnectionException {
    if (outstanding.isEmpty()) {
      lastProgressNs = list.postedNs;
    }
    list.number = ++lastPosted;
    list.sink.posted();
    long wrId = pending.add(list);
    outstanding.put(wrId, list);
    if (!list.completion.isPolledFor()) {
      poller.expect();
    }
    batch.clear();
    for (int i = 0; i < list.size; i++) {
      Read read = reads.get(i);
      batch.add(
          PendingReads.wrId(wrId, i),
          list.sink.address() + read.sinkOffset(),
          list.sink.lkey(),
          read.lengthBytes(),
          read.remoteAddress(),
          read.rkey(),
          i == list.size - 1);
    }
    try {
      stats.nativeCalls.increment();
      int posted = queuePair.pair().postReads(batch);
      stats.readsPosted.add(posted);
      stats.readsSignalled.increment();
    } catch (VerbsException e) {
      list.truncated = true;
      breakWith(PeerFailure.POST_REFUSED, String.valueOf(e.getMessage()));
      if (e.posted() == 0 && retire(wrId, list)) {
        settled(list);
        throw brokenException();
      }
      stats.readsPosted.add(e.posted());
    }
  }

  /**
   * Called for each completion that belongs to a list of this connection, in their order, by the thread
   * that polls.
   *
   * @return whether the list has ended with it, whose outcome is to be told then
   */
  boolean completed(long wrId, PostedList list, int status, int vendorError) {
    long nowNs = System.nanoTime();
    lastProgressNs = nowNs;
    int index = PendingReads.index(wrId);
    if (status != WcStatus.SUCCESS) {
      PeerFailure failure = PeerFailure.of(status);
      if (status != WcStatus.WR_FLUSH_ERR) {
        stats.readErrors.increment();
        if (failure == PeerFailure.READ_ERROR) {
          list.note(index, status, vendorError);
          state.readFailed(list.readsOf);
        }
      }
      breakWith(failure, WcStatus.text(status) + ", vendor error " + vendorError);
    }
    if (index != list.size - 1) {
      return false;
    }
    boolean ended = retire(PendingReads.firstWrId(wrId), list);
    checkOrder(list); // a break fails whatever has not ended
    if (!ended) {
      return false;
    }
    if (status == WcStatus.SUCCESS) {
      long readNs = nowNs - list.postedNs;
      stats.readTimes(list.totalBytes).record(readNs);
      state.succeeded(list.readsOf, readNs);
    } else {
      list.failed(knownBreakage());
    }
    return true;
  }

  /**
   * Breaks the connection if lists before this one have not completed: they never will, as a queue pair
   * completes its READs in the order of their posts (InfiniBand Architecture Specification, volume 1,
   * section 10.8.3.3).
   */
  private void checkOrder(PostedList list) {
    long skipped = list.number - lastCompleted - 1;
    lastCompleted = list.number;
    if (skipped > 0) {
      breakWith(
          PeerFailure.COMPLETION_LOST,
          "lists of READs without a completion that later ones had: " + skipped);
    }
  }

  /** Ends a list for the device's side; true for the one caller that does. */
  private boolean retire(long wrId, PostedList list) {
    if (!pending.remove(wrId)) {
      return false;
    }
    outstanding.remove(wrId);
    budget.release(list.size);
    list.sink.completed();
    return true;
  }

  /** The outcome of the list has been told: until then the poller was expected to tell it. */
  void settled(PostedList list) {
    if (!list.completion.isPolledFor()) {
      poller.expectNoMore();
    }
  }

  /**
   * For whoever waits for something that no READ brings: asks the peer's host by TCP, and breaks the connection if it does not
   * answer, and no READ has come meanwhile. Waits for as long as {@link PeerState#isLost}.
   */
  public void breakIfHostIsLost() {
    long progressNs = lastProgressNs;
    if (isOpen() && state.isLost() && lastProgressNs == progressNs) {
      breakWith(
          PeerFailure.PEER_UNREACHABLE,
          "the peer does not do what it was asked for, and there is no answer from "
              + state.tcpAddress() + " either");
    }
  }

  /** Another connection to the peer's host has failed: if it did for want of an answer, the same is done. */
  public void couldNotConnectByTcp(IOException why) {
    if (TcpProbe.isSilence(why)) {
      breakIfHostIsLost();
    }
  }

  /** After so many milliseconds in which the peer is silent, its host is asked. */
  public int hostAskedAfterMs() {
    return hostAskedAfterMs;
  }

  /** Ends the connection's use; the first failure counts, later ones are ignored. True for the one that counts. */
  boolean breakWith(PeerFailure failure, String detail) {
    if (failure == PeerFailure.DISCONNECTED) {
      poller.poll(); // what has completed is not lost with the peer
    }
    if (isOpen()
        && breakage.compareAndSet(null, new NoConnectionException(peer, failure, detail))) {
      budget.close();
      whenBroken.accept(this);
      return true;
    }
    return false;
  }

  /**
   * Takes the queue pair down: moves it to the error state, waits for what is in flight to be
   * flushed, destroys it, and tells all that did not complete. Called once, by the owner, after the
   * connection broke, in a thread that may wait.
   */
  void destroy(Deadline drainDeadline) {
    boolean nobodyPosts = awaitPosts(drainDeadline);
    if (nobodyPosts) {
      toError();
      drain(drainDeadline);
    }
    boolean destroyed = nobodyPosts && closeQueuePair();
    for (Map.Entry<Long, PostedList> entry : outstanding.entrySet()) {
      PostedList list = entry.getValue();
      boolean ended = destroyed ? retire(entry.getKey(), list) : pending.remove(entry.getKey());
      if (ended) {
        tellFailed(list);
      }
    }
    if (!nobodyPosts) {
      return; // the id is in use as well
    }
    try {
      id.close();
    } catch (IOException | IllegalStateException e) {
      LOG.warn("The connection id of peer {} could not be destroyed", peer, e);
    }
  }

  /**
   * Waits for a post in progress; none begins after the connection broke. False if it has not ended
   * by the deadline, or a second from now: then the queue pair cannot be destroyed.
   */
  private boolean awaitPosts(Deadline deadline) {
    boolean locked = false;
    try {
      long waitNs = Math.max(deadline.remainingNs(), MIN_POST_NS);
      locked = postLock.tryLock(waitNs, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      locked = postLock.tryLock();
    }
    if (locked) {
      postLock.unlock();
    } else {
      notDestroyed(new TimeoutException("a post is still in progress"));
    }
    return locked;
  }

  /** A completion that throws must not keep the others from being told. */
  private void tellFailed(PostedList list) {
    try {
      list.failed(knownBreakage());
      list.tell();
    } catch (RuntimeException | Error e) {
      LOG.error("The failure of a list of READs from {} could not be reported", peer, e);
    }
  }

  private void toError() {
    try {
      id.disconnect();
    } catch (IOException e) {
      LOG.debug("The disconnect from {} failed", peer, e);
    }
    try {
      queuePair.pair().toError();
    } catch (IOException e) {
      LOG.warn("Queue pair {} to {} did not go to the error state", queuePairNumber(), peer, e);
    }
  }

  private void drain(Deadline deadline) {
    poller.expect();
    try {
      awaitCompletions(deadline);
    } finally {
      poller.expectNoMore();
    }
  }

  private void awaitCompletions(Deadline deadline) {
    boolean interrupted = false;
    while (!interrupted
        && !deadline.expired()
        && outstanding.values().stream().anyMatch(this::mayComplete)) {
      poller.poll();
      try {
        TimeUnit.MILLISECONDS.sleep(DRAIN_POLL_MS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        interrupted = true;
      }
    }
  }

  /** A list that the device took in part has no last completion, and one that was skipped has lost it. */
  private boolean mayComplete(PostedList list) {
    return !list.truncated && list.number > lastCompleted;
  }

  private boolean closeQueuePair() {
    try {
      queuePair.close();
      return true;
    } catch (IOException e) {
      notDestroyed(e);
      return false;
    }
  }

  private void notDestroyed(Exception cause) {
    stats.queuePairsNotDestroyed.increment();
    LOG.error(
        "Queue pair {} to {} could not be destroyed; {} lists of READs keep their buffers",
        queuePairNumber(),
        peer,
        outstanding.size(),
        cause);
  }

  ConnectionId id() {
    return id;
  }

  /** The canary has been read through it: from now on it can be idle. */
  void verified() {
    verified = true;
  }

  /** Nanoseconds since anything completed while something is outstanding; else 0. */
  long silentNs() {
    return outstanding.isEmpty() ? 0 : System.nanoTime() - lastProgressNs;
  }

  /** Somebody is about to post: until then it is not idle. */
  void handedOut() {
    handedOutNs = System.nanoTime();
  }

  /**
   * Nanoseconds since the last READ completed and the connection was last handed out; 0 while any
   * READ is outstanding or the canary is to come.
   */
  long idleNs() {
    long nowNs = System.nanoTime();
    return verified && outstanding.isEmpty()
        ? Math.min(nowNs - lastProgressNs, nowNs - handedOutNs)
        : 0;
  }

  /** In buffers that only its READs hold any more. */
  long zombieBytes() {
    return outstanding.values().stream()
        .map(list -> list.sink)
        .filter(RegisteredBuffer::isZombie)
        .distinct() // several lists may bring one block
        .mapToLong(RegisteredBuffer::capacityBytes)
        .sum();
  }

  int outstandingLists() {
    return outstanding.size();
  }

  private NoConnectionException knownBreakage() {
    return Objects.requireNonNull(breakage.get(), "the connection is open");
  }

  private NoConnectionException brokenException() {
    return knownBreakage().forWaiter(peer);
  }
}
