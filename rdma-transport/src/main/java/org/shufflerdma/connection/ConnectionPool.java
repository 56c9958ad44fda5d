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
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections to peers, one to each. A connection is made when it is wanted, and shared by all who want it; a broken one is
 * replaced at the next request. A peer whose connections keep failing is left alone for a while. Any thread may call. No
 * call waits but {@link #connect}.
 */
public final class ConnectionPool {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionPool.class);

  /** The steps of an attempt that wait for an answer, each for {@code connectTimeout} at most. */
  private static final int ANSWERS = 4;

  private final TransportSettings settings;
  private final ConnectionLimit limit;
  private final Connector connector;
  private final Attempts attempts;
  private final Executor closer;
  private final Supplier<Deadline> drainDeadline;
  private final TransportStats stats;
  private final Map<PeerId, PeerState> peers = new ConcurrentHashMap<>();

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
    this.attempts = new Attempts(settings, limit, connector, prober, timer, stats, this::broken);
    this.drainDeadline = drainDeadline;
    this.stats = stats;
  }

  /**
   * Waits for the connection to a peer that {@link #begin} makes.
   *
   * @param tcpAddress of the peer's host, asked to tell a lost peer from one without RDMA; null if
   *     that is not known
   * @param deadline for a place; an attempt that has one takes its own time, which is bounded by {@code
   *     connectTimeout} for each answer and by what it takes to ask the peer's host by TCP
   */
  public Connection connect(PeerId peer, @Nullable InetSocketAddress tcpAddress, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    PeerInterest interest = interestIn(peer, tcpAddress);
    try {
      Connection connection = openConnection(peer, tcpAddress);
      long startNs = System.nanoTime();
      while (connection == null) {
        Connecting attempt = begin(peer, tcpAddress, deadline);
        try {
          await(attempt, deadline);
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
  private void await(Connecting attempt, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    long endingMs = (long) ANSWERS * settings.connectTimeoutMs() + 2 * Attempts.ASKING_MS;
    if (!attempt.await(Deadline.afterMs(deadline.remainingMs() + endingMs))) {
      throw new NoConnectionException(
          attempt.peer(), PeerFailure.TIMEOUT, "the attempt to connect did not end in time");
    }
  }

  /**
   * Returns the attempt to make the connection to a peer, which is begun if there is none under way and no open
   * connection. It waits for a place, or for another try, only while somebody has an {@linkplain #interestIn
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
      Connecting mine = new Connecting(attempts, state, placeBy, settings.connectTimeoutMs());
      if (!state.mayBeTried()) {
        attempts.leaveAlone(mine);
        return mine;
      }
      if (state.beginAttempt(mine)) {
        attempts.start(mine);
        return mine;
      }
    }
  }

  /** Notes that a task has blocks of the peer to read, until it closes the result. */
  public PeerInterest interestIn(PeerId peer, @Nullable InetSocketAddress tcpAddress) {
    return new PeerInterest(use(peer, tcpAddress));
  }

  /** Returns the connection to a peer if it is open. Where that is null, {@link #begin} makes one, or says why there is none. */
  public @Nullable Connection openConnection(PeerId peer, @Nullable InetSocketAddress tcpAddress) {
    Connection connection = use(peer, tcpAddress).connection();
    if (connection != null) {
      connection.handedOut();
    }
    return connection;
  }

  /** Whether the connection to a peer is open. Unlike other calls, this is no request for it. */
  public boolean isOpen(PeerId peer) {
    PeerState state = peers.get(peer);
    return state != null && state.connection() != null;
  }

  /** A request for the peer has come. */
  private PeerState use(PeerId peer, @Nullable InetSocketAddress tcpAddress) {
    return peers.compute(peer, (key, old) -> (old == null ? newState(key) : old).use(tcpAddress));
  }

  private PeerState newState(PeerId peer) {
    return new PeerState(
        peer,
        new CircuitBreaker(settings.breakerFailures(), settings.breakerOpenMs(), System::nanoTime));
  }

  private void checkOpen(PeerId peer) throws NoConnectionException {
    if (isClosed()) {
      throw Attempts.closed(peer);
    }
  }

  private void broken(Connection connection) {
    NoConnectionException breakage = connection.breakage();
    try {
      if (breakage != null && breakage.failure() != PeerFailure.CLOSED) {
        report(connection, breakage);
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
   * A peer that leaves while nothing is read from it has not failed. An attempt after earlier failures that ends so is
   * open to be made again.
   */
  private void report(Connection connection, NoConnectionException breakage) {
    PeerId peer = connection.peer();
    PeerFailure failure = breakage.failure();
    int outstanding = connection.outstandingLists();
    boolean isEvicted = failure == PeerFailure.EVICTED;
    boolean hasLeft = failure == PeerFailure.DISCONNECTED && outstanding == 0;
    if (isEvicted || hasLeft) {
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
    connection.state().fellSilent(failure == PeerFailure.NO_ANSWER);
    attempts.countFailure(connection.state(), failure);
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

  CompletionRoom room() {
    return connector.room();
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
    return attempts.isClosed();
  }

  /** Breaks every connection with one failure, and makes no new one. */
  void close(PeerFailure failure, String detail) {
    attempts.close();
    for (Connection connection : limit.connections()) {
      try {
        connection.breakWith(failure, detail);
      } catch (RuntimeException | Error e) { // the others must end as well
        LOG.error("The connection to {} could not be ended", connection.peer(), e);
      }
    }
  }
}
