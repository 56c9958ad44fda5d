/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
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
 * thread may call; {@link #connect} and {@link #connectFurther} block their caller until the deadline at
 * most.
 */
public final class ConnectionPool {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionPool.class);

  /** Between attempts to connect to a peer that has no place. */
  private static final int FIRST_PAUSE_MS = 20;

  private static final int LONGEST_PAUSE_MS = 640;

  private final TransportSettings settings;
  private final ConnectionLimit limit;
  private final Connector connector;
  private final CmEventLoop loop;
  private final Executor closer;
  private final Supplier<Deadline> drainDeadline;
  private final TransportStats stats;
  private final Map<PeerId, PeerState> peers = new ConcurrentHashMap<>();
  private volatile boolean closed;

  ConnectionPool(
      TransportSettings settings,
      ConnectionLimit limit,
      Connector connector,
      CmEventLoop loop,
      Executor closer,
      Supplier<Deadline> drainDeadline,
      TransportStats stats) {
    this.settings = settings;
    this.limit = limit;
    this.connector = connector;
    this.loop = loop;
    this.closer = closer;
    this.drainDeadline = drainDeadline;
    this.stats = stats;
  }

  /** Acquires a connection like the other method, for a caller that wants it until the deadline. */
  public Connection connect(PeerId peer, @Nullable InetSocketAddress tcpAddress, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    return connect(peer, tcpAddress, () -> false, deadline);
  }

  /**
   * The connection to a peer; concurrent callers share the attempt to make it. Where there are as
   * many connections as there may be, the caller waits for a place.
   *
   * @param tcpAddress of the peer's host, asked to tell a lost peer from one without RDMA; null if
   *     that is not known
   * @param isCancelled whether the caller has no use for a connection any more; then it does not wait
   *     for a place any longer
   */
  public Connection connect(
      PeerId peer,
      @Nullable InetSocketAddress tcpAddress,
      BooleanSupplier isCancelled,
      Deadline deadline)
      throws NoConnectionException, InterruptedException {
    PeerState state = use(peer, tcpAddress);
    Connection first = state.first();
    if (first != null) {
      checkOpen(peer);
      first.handedOut();
      return first;
    }
    long startNs = System.nanoTime();
    try {
      return awaitConnection(state, isCancelled, deadline);
    } finally {
      stats.connectionWaits.recordSince(startNs);
    }
  }

  private Connection awaitConnection(
      PeerState state, BooleanSupplier isCancelled, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    PeerId peer = state.peer();
    while (true) {
      checkOpen(peer);
      CompletableFuture<Connection> shared = state.currentAttempt();
      if (shared != null) {
        return await(peer, shared, deadline);
      }
      if (!state.mayBeTried()) {
        throw leftAlone(state);
      }
      if (takePlace(state, isCancelled, deadline)) {
        CompletableFuture<Connection> mine = state.beginAttempt();
        if (mine == null) {
          limit.attemptEnded(null);
        } else {
          connectInPlace(state, mine, deadline);
          return await(peer, mine, deadline);
        }
      }
    }
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
   * null, {@link #connect} makes the first one or says why there is none. Never blocks.
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

  /**
   * Whether the caller is to call {@link #connectFurther}: the connection of the channel is not open, and
   * nobody is making one to this peer, or has made it lately.
   */
  public boolean beginFurther(PeerId peer, int channel, @Nullable InetSocketAddress tcpAddress) {
    return channel > 0 && use(peer, tcpAddress).further().beginAttempt(channel);
  }

  /**
   * Makes the connection of a channel other than 0, if there is plenty of room and the first one is open.
   *
   * @param isCancelled whether the caller has no use for it any more
   */
  public void connectFurther(
      PeerId peer,
      int channel,
      @Nullable InetSocketAddress tcpAddress,
      BooleanSupplier isCancelled,
      Deadline deadline)
      throws InterruptedException {
    PeerState state = use(peer, tcpAddress);
    try {
      if (!closed
          && !isCancelled.getAsBoolean()
          && state.currentAttempt() != null
          && limit.takeSpare()) {
        long startNs = System.nanoTime();
        try {
          connectInSparePlace(state, channel, deadline.atMostMs(settings.connectTimeoutMs()));
        } finally {
          stats.connectTimes.recordSince(startNs);
        }
      }
    } catch (NoConnectionException e) {
      LOG.info("No further connection: {}", e.getMessage());
    } finally {
      state.further().attemptEnded();
    }
  }

  private void connectInSparePlace(PeerState state, int channel, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    long startNs = System.nanoTime();
    Connector.Unverified made = null;
    try {
      made = connector.connect(state, connection -> broken(connection, false), deadline);
    } finally {
      limit.attemptEnded(made == null ? null : made.connection());
    }
    connector.verify(made, deadline);
    Connection connection = made.connection();
    state.further().made(channel, connection);
    logConnected(state.peer(), connection, startNs);
    if (closed) {
      connection.breakWith(PeerFailure.CLOSED, "this transport is closed");
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
      throw new NoConnectionException(peer, PeerFailure.CLOSED, "this transport is closed");
    }
  }

  /**
   * A peer found lost is asked by TCP once more each time: it may have come back, and then TCP brings
   * its blocks.
   */
  private NoConnectionException leftAlone(PeerState state) {
    PeerFailure last = state.lastFailure();
    boolean lost = last == PeerFailure.PEER_UNREACHABLE && state.isLost();
    return new NoConnectionException(
        state.peer(),
        lost ? PeerFailure.PEER_UNREACHABLE : PeerFailure.BREAKER,
        "left alone for " + settings.breakerOpenMs() + " ms after " + last);
  }

  /** False if another caller has begun to connect to the peer, or it is left alone by now. */
  private boolean takePlace(PeerState state, BooleanSupplier isCancelled, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    PeerId peer = state.peer();
    BooleanSupplier isNeeded =
        () -> !isCancelled.getAsBoolean() && state.currentAttempt() == null && state.mayBeTried();
    String why =
        limit.places() + " connections are in use (" + settings.key("maxConnections") + ")";
    switch (limit.take(isNeeded, deadline)) {
      case TAKEN -> {
        return true;
      }
      case NOT_NEEDED -> {
        if (!isCancelled.getAsBoolean()) {
          return false;
        }
        why = "the caller gave up while " + why;
      }
      case CLOSED -> checkOpen(peer);
      case EXPIRED -> {
        stats.connectFailures.increment();
        LOG.warn("RDMA peer={} event=NO_PLACE action=TCP, {}", peer, why);
      }
    }
    throw new NoConnectionException(peer, PeerFailure.RESOURCES, why);
  }

  /** Uses the place that the caller has taken, and completes the attempt. */
  private void connectInPlace(
      PeerState state, CompletableFuture<Connection> attempt, Deadline deadline)
      throws InterruptedException {
    PeerId peer = state.peer();
    long startNs = System.nanoTime();
    try {
      Connection connection = connectOrCount(state, deadline);
      if (state.connected()) {
        stats.reconnects.increment();
      }
      attempt.complete(connection);
      logConnected(peer, connection, startNs);
      if (closed) {
        connection.breakWith(PeerFailure.CLOSED, "this transport is closed");
      }
    } catch (NoConnectionException e) {
      attempt.completeExceptionally(e);
    } catch (Throwable t) {
      state.undecided();
      attempt.completeExceptionally(
          new NoConnectionException(peer, PeerFailure.CLOSED, "the attempt was ended", t));
      throw t;
    }
  }

  private static void logConnected(PeerId peer, Connection connection, long startNs) {
    LOG.info(
        "RDMA peer={} qp={} event=CONNECTED ms={}",
        peer,
        connection.queuePairNumber(),
        TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs));
  }

  private Connection connectOrCount(PeerState state, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    long startNs = System.nanoTime();
    try {
      Deadline connected = deadline.atMostMs(settings.connectTimeoutMs());
      Connector.Unverified made = make(state, connected);
      connector.verify(made, connected);
      return made.connection();
    } catch (NoConnectionException e) {
      boolean unanswered = e.failure() == PeerFailure.TIMEOUT || e.failure() == PeerFailure.CANARY;
      NoConnectionException known = unanswered && state.isLost() ? e.unreachable(state.peer()) : e;
      stats.connectFailures.increment();
      countFailure(state, known.failure());
      LOG.warn("{}", known.getMessage());
      throw known;
    } finally {
      stats.connectTimes.recordSince(startNs);
    }
  }

  /** The place is the connection's from then on, or given back. */
  private Connector.Unverified make(PeerState state, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    Connector.Unverified made = null;
    try {
      limit.lookAgain(); // who waits in line to connect to this peer shares the attempt
      checkNotLost(state);
      made = connectPatiently(state, deadline);
      return made;
    } finally {
      limit.attemptEnded(made == null ? null : made.connection());
    }
  }

  /** A peer to which many connect at once, and which turns some away, is asked again, later each time. */
  private Connector.Unverified connectPatiently(PeerState state, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    int mostMs = FIRST_PAUSE_MS;
    NoConnectionException turnedAway = null;
    while (true) {
      try {
        return connectOrMakeRoom(state, deadline);
      } catch (NoConnectionException e) {
        boolean isLate = e.failure() == PeerFailure.TIMEOUT || e.failure() == PeerFailure.ADDRESS;
        if (turnedAway != null && isLate) {
          throw turnedAway; // too little was left of the time
        }
        int pauseMs = ThreadLocalRandom.current().nextInt(mostMs / 2, mostMs);
        if (e.failure() != PeerFailure.TOO_MANY || closed || deadline.remainingMs() <= pauseMs) {
          throw e;
        }
        turnedAway = e;
        TimeUnit.MILLISECONDS.sleep(pauseMs);
        mostMs = Math.min(2 * mostMs, LONGEST_PAUSE_MS);
      }
    }
  }

  /** Where the device has nothing left for one more connection, one that is idle makes room. */
  private Connector.Unverified connectOrMakeRoom(PeerState state, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    try {
      return connector.connect(state, this::firstBroken, deadline);
    } catch (NoConnectionException e) {
      if (e.failure() != PeerFailure.RESOURCES || !limit.makeRoom(deadline)) {
        throw e;
      }
    }
    return connector.connect(state, this::firstBroken, deadline);
  }

  /** A peer whose device has just fallen silent is not waited for again if its host is silent, too. */
  private static void checkNotLost(PeerState state) throws NoConnectionException {
    if (state.hasFallenSilent() && state.isLost()) {
      throw new NoConnectionException(
          state.peer(), PeerFailure.PEER_UNREACHABLE, "it answers neither READs nor TCP");
    }
  }

  private void countFailure(PeerState state, PeerFailure failure) {
    if (failure == PeerFailure.RESOURCES
        || failure == PeerFailure.TOO_MANY) { // a shortage, no failure
      state.undecided();
    } else if (state.failed(failure)) {
      stats.breakersOpened.increment();
      LOG.warn(
          "RDMA peer={} event=BREAKER_OPEN action=left alone for {} ms",
          state.peer(),
          settings.breakerOpenMs());
    }
  }

  private static Connection await(
      PeerId peer, CompletableFuture<Connection> attempt, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    try {
      Connection connection = attempt.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
      connection.handedOut();
      return connection;
    } catch (TimeoutException e) {
      throw new NoConnectionException(
          peer, PeerFailure.TIMEOUT, "the attempt of another thread did not end in time");
    } catch (ExecutionException e) {
      if (e.getCause() instanceof NoConnectionException known) {
        throw known.forWaiter(peer);
      }
      throw new IllegalStateException("an attempt must end with a connection or a reason", e);
    }
  }

  private void firstBroken(Connection connection) {
    broken(connection, true);
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
    loop.forget(connection.id());
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

  boolean isClosed() {
    return closed;
  }

  /** Breaks every connection with one failure, and makes no new one. */
  void close(PeerFailure failure, String detail) {
    closed = true;
    limit.close();
    for (Connection connection : limit.connections()) {
      try {
        connection.breakWith(failure, detail);
      } catch (RuntimeException | Error e) { // the others must end as well
        LOG.error("The connection to {} could not be ended", connection.peer(), e);
      }
    }
  }
}
