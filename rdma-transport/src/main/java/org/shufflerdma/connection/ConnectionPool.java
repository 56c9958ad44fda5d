/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections to peers. The first one to a peer is made when it is wanted and shared by all who want
 * it; a broken one is replaced at the next request. A peer whose first connections keep failing is left
 * alone for a while. Further connections exist only beside the first one, where there is plenty of room,
 * and one that fails is done without; if it fell silent, the others that are silent end with it. Any
 * thread may call. No call waits but {@link #connect}.
 */
public final class ConnectionPool {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionPool.class);

  /** How often attempts are looked after while there are any. */
  private static final int LOOK_MS = 20;

  /** The steps of an attempt that wait for an answer, each for {@code connectTimeout} at most. */
  private static final int ANSWERS = 4;

  private final TransportSettings settings;
  private final ConnectionLimit limit;
  private final Connector connector;
  private final Executor closer;
  private final Executor prober;
  private final ScheduledExecutorService timer;
  private final Supplier<Deadline> drainDeadline;
  private final TransportStats stats;
  private final Map<PeerId, PeerState> peers = new ConcurrentHashMap<>();
  private final Set<Connecting> attempts = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean looks = new AtomicBoolean();
  private volatile boolean closed;

  /**
   * @param closer destroys connections
   * @param prober asks hosts by TCP
   */
  ConnectionPool(
      TransportSettings settings,
      ConnectionLimit limit,
      Connector connector,
      Executor closer,
      Executor prober,
      ScheduledExecutorService timer,
      Supplier<Deadline> drainDeadline,
      TransportStats stats) {
    this.settings = settings;
    this.limit = limit;
    this.connector = connector;
    this.closer = closer;
    this.prober = prober;
    this.timer = timer;
    this.drainDeadline = drainDeadline;
    this.stats = stats;
  }

  /** Waits for a connection like the other method, for a caller that wants it until the deadline. */
  public Connection connect(PeerId peer, @Nullable InetSocketAddress tcpAddress, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    return connect(peer, tcpAddress, () -> false, deadline);
  }

  /**
   * Waits for the connection to a peer that {@link #begin} makes.
   *
   * @param tcpAddress of the peer's host, asked to tell a lost peer from one without RDMA; null if
   *     that is not known
   * @param isCancelled whether the caller has no use for a connection any more; then it does not wait
   *     any longer
   * @param deadline for a place; an attempt that has one takes its own time, which is bounded by {@code
   *     connectTimeout} for each answer and by what it takes to ask the peer's host by TCP
   */
  public Connection connect(
      PeerId peer,
      @Nullable InetSocketAddress tcpAddress,
      BooleanSupplier isCancelled,
      Deadline deadline)
      throws NoConnectionException, InterruptedException {
    PeerInterest interest = interestIn(peer, tcpAddress);
    try {
      Connection connection = openConnection(peer, 0, tcpAddress);
      long startNs = System.nanoTime();
      while (connection == null) {
        Connecting attempt = begin(peer, tcpAddress, deadline);
        try {
          await(attempt, isCancelled, deadline);
        } finally {
          stats.connectionWaits.recordSince(startNs);
        }
        attempt.throwRefusal();
        connection = attempt.connection();
      }
      checkOpen(peer);
      connection.handedOut();
      return connection;
    } finally {
      interest.close();
    }
  }

  /** An attempt has time of its own once it has a place, and tells best what is wrong. */
  private void await(Connecting attempt, BooleanSupplier isCancelled, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    long endingMs = (long) ANSWERS * settings.connectTimeoutMs() + 2 * TcpProbe.TOTAL_MS;
    Deadline patience = Deadline.afterMs(deadline.remainingMs() + endingMs);
    while (!attempt.await(patience.atMostMs(LOOK_MS))) {
      if (isCancelled.getAsBoolean()) {
        throw new NoConnectionException(
            attempt.peer(), PeerFailure.RESOURCES, "the caller gave up");
      }
      if (patience.expired()) {
        throw new NoConnectionException(
            attempt.peer(), PeerFailure.TIMEOUT, "the attempt to connect did not end in time");
      }
    }
  }

  /**
   * Returns the attempt to make the first connection to a peer, which is begun if there is none under way and no
   * open connection. It waits for a place, or for another try, only while somebody has an {@linkplain #interestIn
   * interest} in the peer.
   *
   * @param placeBy until when the caller waits for a place, where there are as many connections as there may be
   */
  public Connecting begin(PeerId peer, @Nullable InetSocketAddress tcpAddress, Deadline placeBy)
      throws NoConnectionException {
    PeerState state = use(peer, tcpAddress);
    while (true) {
      checkOpen(peer);
      Connecting current = state.currentAttempt();
      if (current != null) {
        current.sharedUntil(placeBy);
        return current;
      }
      Connecting mine = newAttempt(state, 0, placeBy);
      if (!state.mayBeTried()) {
        leaveAlone(mine);
        return mine;
      }
      if (state.beginAttempt(mine)) {
        start(mine);
        return mine;
      }
    }
  }

  private Connecting newAttempt(PeerState state, int channel, Deadline placeBy) {
    return new Connecting(new Attempts(), state, channel, placeBy, settings.connectTimeoutMs());
  }

  /** A peer whose device has just fallen silent is not waited for again if its host is silent, too. */
  private void start(Connecting attempt) {
    keep(attempt);
    if (attempt.state().hasFallenSilent()) {
      whenProbed(attempt, isLost -> {
        if (isLost) {
          attempt.end(new NoConnectionException(
              attempt.peer(), PeerFailure.PEER_UNREACHABLE, "it answers neither READs nor TCP"));
        } else {
          enter(attempt);
        }
      });
    } else {
      enter(attempt);
    }
  }

  /** The attempt is looked after until it is over. */
  private void keep(Connecting attempt) {
    attempts.add(attempt);
    lookSoon();
  }

  private void enter(Connecting attempt) {
    if (!limit.enter(attempt)) {
      attempt.end(closedFailure(attempt.peer()));
    }
  }

  private interface Probed {
    void run(boolean isLost);
  }

  /** Goes on in the prober when it is known whether the peer's host answers TCP, or at once if nobody can ask. */
  private void whenProbed(Connecting attempt, Probed then) {
    attempt.beingAsked(true);
    try {
      prober.execute(() -> {
        boolean isLost = isLost(attempt.state());
        attempt.beingAsked(false);
        then.run(isLost);
      });
    } catch (RejectedExecutionException | OutOfMemoryError e) { // no thread is to be had
      attempt.beingAsked(false);
      then.run(false);
    }
  }

  private static boolean isLost(PeerState state) {
    try {
      return state.isLost();
    } catch (RuntimeException | Error e) { // the attempt must end all the same
      LOG.warn("The host of {} could not be asked", state.peer(), e);
      return false;
    }
  }

  /**
   * A peer found lost is asked by TCP once more each time: it may have come back, and then TCP brings
   * its blocks.
   */
  private void leaveAlone(Connecting attempt) {
    PeerFailure last = attempt.state().lastFailure();
    String why = "left alone for " + settings.breakerOpenMs() + " ms after " + last;
    if (last != PeerFailure.PEER_UNREACHABLE) {
      attempt.refuse(new NoConnectionException(attempt.peer(), PeerFailure.BREAKER, why));
      return;
    }
    keep(attempt);
    whenProbed(attempt, isLost -> {
      PeerFailure failure = isLost ? PeerFailure.PEER_UNREACHABLE : PeerFailure.BREAKER;
      attempt.refuse(new NoConnectionException(attempt.peer(), failure, why));
      attempts.remove(attempt);
    });
  }

  private void lookSoon() {
    if (looks.compareAndSet(false, true)) {
      try {
        ScheduledFuture<?> unused =
            timer.schedule(this::lookAround, LOOK_MS, TimeUnit.MILLISECONDS);
      } catch (RejectedExecutionException e) {
        LOG.debug("The timer has ended, and so will all attempts", e);
      }
    }
  }

  private void lookAround() {
    looks.set(false);
    try {
      limit.line().forEach(this::leaveLineIfOver);
      long silentNs = connector.answerTime().silentNs();
      attempts.forEach(attempt -> look(attempt, silentNs));
      limit.admit();
    } catch (Throwable t) { // one that escaped would end all deadlines of attempts
      LOG.error("Attempts to connect could not be looked after", t);
    } finally {
      if (!attempts.isEmpty()) {
        lookSoon();
      }
    }
  }

  private static void look(Connecting attempt, long silentNs) {
    try {
      attempt.look(silentNs);
    } catch (RuntimeException e) { // the others are looked after all the same
      LOG.error("The attempt to connect to {} could not be looked after", attempt.peer(), e);
    }
  }

  private void leaveLineIfOver(Connecting waiting) {
    boolean isWanted = waiting.state().isWanted();
    if ((isWanted && !waiting.isTooLateForPlace()) || !limit.leaveLine(waiting)) {
      return;
    }
    waiting.state().undecided();
    attempts.remove(waiting);
    if (!isWanted) {
      waiting.unwanted();
      return;
    }
    String why = limit.places() + " connections are in use (" + settings.key("maxConnections")
        + "), or others are being made";
    waiting.refuse(new NoConnectionException(waiting.peer(), PeerFailure.RESOURCES, why));
    stats.connectFailures.increment();
    LOG.warn("RDMA peer={} event=NO_PLACE action=TCP, {}", waiting.peer(), why);
  }

  /** Notes that a task has blocks of the peer to read, until it closes the result. */
  public PeerInterest interestIn(PeerId peer, @Nullable InetSocketAddress tcpAddress) {
    return new PeerInterest(use(peer, tcpAddress));
  }

  /** Returns how many connections to one peer there may be; their channels count from 0. */
  public int channels() {
    return settings.connectionsPerPeer();
  }

  /**
   * Returns the connection of a channel to a peer if it is open, or else the first one. Where that is
   * null, {@link #begin} makes the first one or says why there is none.
   */
  public @Nullable Connection openConnection(
      PeerId peer, int channel, @Nullable InetSocketAddress tcpAddress) {
    PeerState state = use(peer, tcpAddress);
    Connection connection = state.first();
    if (connection != null) {
      connection.handedOut(); // also where a further one is: the first one is not to make room then
    }
    Connection further = channel == 0 ? null : state.further().open(channel);
    if (further == null) {
      return connection;
    }
    further.handedOut();
    return further;
  }

  /** Whether the first connection to a peer is open. Unlike other calls, this is no request for it. */
  public boolean isOpen(PeerId peer) {
    PeerState state = peers.get(peer);
    return state != null && state.first() != null;
  }

  /**
   * Makes the connection of a channel other than 0, if there is plenty of room, the first one is open, and nobody is
   * making one to this peer, or has made it lately.
   */
  public void beginFurther(PeerId peer, int channel, @Nullable InetSocketAddress tcpAddress) {
    PeerState state = use(peer, tcpAddress);
    if (closed || channel == 0 || state.first() == null || !state.further().beginAttempt(channel)) {
      return;
    }
    Connecting attempt = newAttempt(state, channel, Deadline.afterMs(settings.connectTimeoutMs()));
    keep(attempt);
    if (!limit.enterSpare(attempt)) {
      state.further().attemptEnded();
      attempts.remove(attempt);
      attempt.unwanted();
    }
  }

  /** A request for the peer has come. */
  private PeerState use(PeerId peer, @Nullable InetSocketAddress tcpAddress) {
    return peers.compute(peer, (key, old) -> (old == null ? newState(key) : old).use(tcpAddress));
  }

  private PeerState newState(PeerId peer) {
    return new PeerState(
        peer,
        channels(),
        new CircuitBreaker(settings.breakerFailures(), settings.breakerOpenMs(), System::nanoTime));
  }

  private void checkOpen(PeerId peer) throws NoConnectionException {
    if (closed) {
      throw closedFailure(peer);
    }
  }

  private static NoConnectionException closedFailure(PeerId peer) {
    return new NoConnectionException(peer, PeerFailure.CLOSED, "this transport is closed");
  }

  /** What becomes of attempts. */
  private final class Attempts implements Connecting.Owner {
    @Override
    public Dial newTry(Connecting attempt, Dial.Caller caller) {
      boolean isFirst = attempt.isFirst();
      return new Dial(
          connector,
          attempt.state(),
          settings.connectTimeoutMs(),
          connection -> broken(connection, isFirst),
          caller);
    }

    @Override
    public boolean makesRoom(boolean mayEndOne) {
      return !closed && limit.makesRoom(mayEndOne);
    }

    @Override
    public void leftPlace(Connecting attempt, @Nullable Connection connection) {
      limit.leftPlace(attempt, connection);
    }

    @Override
    public void succeeded(Connecting attempt, Connection connection) {
      over(attempt);
      PeerState state = attempt.state();
      stats.connectionsOpened.increment();
      if (attempt.isFirst()) {
        if (state.connected()) {
          stats.reconnects.increment();
        }
      } else {
        state.further().made(attempt.channel(), connection);
        state.further().attemptEnded();
      }
      if (closed) {
        connection.breakWith(PeerFailure.CLOSED, "this transport is closed");
      }
      LOG.info(
          "RDMA peer={} qp={} event=CONNECTED ms={}",
          attempt.peer(),
          connection.queuePairNumber(),
          TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - attempt.placedNs()));
    }

    @Override
    public void failed(Connecting attempt, NoConnectionException why) {
      if (!attempt.isFirst()) {
        over(attempt);
        attempt.state().further().attemptEnded();
        attempt.refuse(why);
        LOG.info("No further connection: {}", why.getMessage());
        return;
      }
      limit.ended(attempt);
      boolean unanswered =
          why.failure() == PeerFailure.TIMEOUT || why.failure() == PeerFailure.CANARY;
      if (unanswered && !closed) {
        whenProbed(
            attempt, isLost -> refuse(attempt, isLost ? why.unreachable(attempt.peer()) : why));
      } else {
        refuse(attempt, why);
      }
    }

    private void refuse(Connecting attempt, NoConnectionException why) {
      try {
        if (over(
            attempt)) { // else the end of the transport was faster than the verdict on the peer
          stats.connectFailures.increment();
          countFailure(attempt.state(), why.failure());
          LOG.warn("{}", why.getMessage());
        }
      } finally {
        attempt.refuse(why);
      }
    }

    /** False if it was over before. */
    private boolean over(Connecting attempt) {
      boolean isOverNow = attempts.remove(attempt);
      limit.ended(attempt);
      if (isOverNow && attempt.placedNs() != 0) {
        stats.connectTimes.recordSince(attempt.placedNs());
      }
      return isOverNow;
    }

    @Override
    public void waitedSince(long startNs) {
      stats.connectionWaits.recordSince(startNs);
    }
  }

  private void countFailure(PeerState state, PeerFailure failure) {
    if (failure == PeerFailure.RESOURCES
        || failure == PeerFailure.TOO_MANY
        || failure == PeerFailure.CLOSED) { // a shortage, or an end, no failure
      state.undecided();
    } else if (state.failed(failure)) {
      stats.breakersOpened.increment();
      LOG.warn(
          "RDMA peer={} event=BREAKER_OPEN action=left alone for {} ms",
          state.peer(),
          settings.breakerOpenMs());
    }
  }

  private void broken(Connection connection, boolean isFirst) {
    NoConnectionException breakage = connection.breakage();
    try {
      if (breakage != null && breakage.failure() != PeerFailure.CLOSED) {
        report(connection, breakage, isFirst);
      }
    } finally {
      takeDown(connection);
    }
  }

  private void takeDown(Connection connection) {
    Deadline drained = drainDeadline.get(); // from now, however many are taken down before this one
    try {
      closer.execute(() -> destroy(connection, drained));
    } catch (RejectedExecutionException e) {
      destroy(connection, drained);
    }
  }

  /**
   * A peer that leaves while nothing is read from it has not failed, and a further connection says
   * nothing of its peer but that it is silent. An attempt after earlier failures that ends so is open to
   * be made again.
   */
  private void report(Connection connection, NoConnectionException breakage, boolean isFirst) {
    PeerId peer = connection.peer();
    PeerFailure failure = breakage.failure();
    int outstanding = connection.outstandingLists();
    boolean isEvicted = failure == PeerFailure.EVICTED;
    boolean hasLeft = failure == PeerFailure.DISCONNECTED && outstanding == 0;
    if (isFirst && (isEvicted || hasLeft)) {
      connection.state().undecided();
    }
    if (isEvicted) {
      stats.connectionsEvicted.increment();
      LOG.debug("RDMA peer={} qp={} event=EVICTED", peer, connection.queuePairNumber());
      return;
    }
    if (hasLeft) {
      LOG.info("RDMA peer={} qp={} event=LEFT", peer, connection.queuePairNumber());
      return;
    }
    stats.connectionsFailed.increment();
    LOG.warn(
        "RDMA peer={} qp={} event={} outstanding={} action=tear down",
        peer,
        connection.queuePairNumber(),
        breakage.reason(),
        outstanding);
    if (isFirst) {
      connection.state().fellSilent(failure == PeerFailure.NO_ANSWER);
      countFailure(connection.state(), failure);
    }
    if (failure.isSilence()) {
      connection.state().breakSilent(failure, "READs over another connection were not answered");
    }
  }

  private void destroy(Connection connection, Deadline drained) {
    connector.loop().forget(connection.id());
    try {
      connection.destroy(drained);
    } finally {
      limit.destroyed(connection);
      connection.state().forgetEnded();
    }
  }

  /** Drops what is known of peers without a connection that nobody has asked for so long. */
  void forgetUnused(long unusedMs) {
    long unusedNs = TimeUnit.MILLISECONDS.toNanos(unusedMs);
    for (PeerId peer : peers.keySet()) {
      peers.computeIfPresent(peer, (key, state) -> state.isUnused(unusedNs) ? null : state);
    }
  }

  /** How long READs of each peer took that has been asked for of late, in no order. */
  public List<PeerReadTime> readTimes() {
    return peers.values().stream().map(PeerState::readTime).toList();
  }

  int completionQueueEntries() {
    return connector.room().queue().capacity();
  }

  /** The most connections that there can be at a time. */
  int limit() {
    return limit.places();
  }

  Set<Connection> connections() {
    return limit.connections();
  }

  void breakQueuePair(int number, String detail) {
    for (Connection connection : limit.connections()) {
      if (connection.queuePairNumber() == number) {
        connection.breakWith(PeerFailure.DEVICE, detail);
      }
    }
  }

  private void endAsClosed(Connecting attempt) {
    try {
      attempt.end(closedFailure(attempt.peer()));
    } catch (RuntimeException e) { // the others must end as well
      LOG.error("The attempt to connect to {} could not be ended", attempt.peer(), e);
    }
  }

  boolean isClosed() {
    return closed;
  }

  /** Breaks every connection with one failure, and makes no new one. */
  void close(PeerFailure failure, String detail) {
    closed = true;
    limit.close();
    attempts.forEach(this::endAsClosed);
    for (Connection connection : limit.connections()) {
      try {
        connection.breakWith(failure, detail);
      } catch (RuntimeException | Error e) { // the others must end as well
        LOG.error("The connection to {} could not be ended", connection.peer(), e);
      }
    }
  }
}
