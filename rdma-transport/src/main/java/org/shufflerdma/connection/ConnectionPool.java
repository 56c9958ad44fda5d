/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection per peer, made when first wanted and shared by all who want it; a broken one is
 * replaced at the next request. A peer that keeps failing is left alone for a while. Any thread may
 * call; {@link #connect} blocks its caller until the deadline at most.
 */
public final class ConnectionPool implements Connection.Owner {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionPool.class);

  /** A connection that was in use more lately than this keeps its place. */
  private static final long MIN_IDLE_NS = TimeUnit.SECONDS.toNanos(1);

  /** For the many who wait for the same host one after the other. */
  private static final long SILENCE_BELIEVED_NS = TimeUnit.SECONDS.toNanos(3);

  private final TransportSettings settings;
  private final int maxConnections;
  private final Connector connector;
  private final CmEventLoop loop;
  private final Executor closer;
  private final Supplier<Deadline> drainDeadline;
  private final TransportStats stats;
  private final Map<PeerId, Slot> slots = new ConcurrentHashMap<>();
  private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

  /** Guarded by connections. */
  private int attempts;

  private volatile boolean closed;

  ConnectionPool(
      TransportSettings settings,
      int maxConnections,
      Connector connector,
      CmEventLoop loop,
      Executor closer,
      Supplier<Deadline> drainDeadline,
      TransportStats stats) {
    this.settings = settings;
    this.maxConnections = maxConnections;
    this.connector = connector;
    this.loop = loop;
    this.closer = closer;
    this.drainDeadline = drainDeadline;
    this.stats = stats;
  }

  /** What is known about one peer. */
  private static final class Slot {
    final CircuitBreaker breaker;

    @Nullable
    CompletableFuture<Connection> current;

    @Nullable
    ConnectFailure lastFailure;

    boolean wasConnected;

    long usedNs;

    /** The last connection ended because the peer did not answer; its host is asked before the next. */
    boolean fellSilent;

    /** Guards the three fields below; held while the peer's host is asked. */
    final Object probeLock = new Object();

    @Nullable
    InetSocketAddress asked;

    boolean hostAnswered;
    long askedNs;

    Slot(CircuitBreaker breaker) {
      this.breaker = breaker;
    }

    synchronized Slot use() {
      usedNs = System.nanoTime();
      return this;
    }

    synchronized boolean isUnused(long ns) {
      return System.nanoTime() - usedNs >= ns && (current == null || isOver(current));
    }
  }

  /**
   * The connection to a peer; concurrent callers share the attempt to make it.
   *
   * @param tcpAddress of the peer's host, asked to tell a lost peer from one without RDMA; null if
   *     that is not known
   */
  public Connection connect(PeerId peer, @Nullable InetSocketAddress tcpAddress, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    Slot slot =
        slots.compute(peer, (key, old) -> (old == null ? new Slot(newBreaker()) : old).use());
    CompletableFuture<Connection> mine = null;
    CompletableFuture<Connection> shared;
    synchronized (slot) {
      checkOpen(peer);
      shared = slot.current;
      if (shared == null || isOver(shared)) {
        shared = null;
        if (slot.breaker.admits()) {
          mine = new CompletableFuture<>();
          shared = mine;
          slot.current = mine;
        }
      }
    }
    if (shared == null) {
      throw leftAlone(peer, slot, tcpAddress);
    }
    if (mine != null) {
      connectNow(peer, slot, mine, tcpAddress, deadline);
    }
    return await(peer, shared, deadline);
  }

  private CircuitBreaker newBreaker() {
    return new CircuitBreaker(
        settings.breakerFailures(), settings.breakerOpenMs(), System::nanoTime);
  }

  private static boolean isOver(CompletableFuture<Connection> attempt) {
    return attempt.isCompletedExceptionally()
        || (attempt.isDone() && !attempt.join().isOpen());
  }

  private void checkOpen(PeerId peer) throws NoConnectionException {
    if (closed) {
      throw new NoConnectionException(peer, ConnectFailure.CLOSED, "this transport is closed");
    }
  }

  /**
   * A peer found lost is asked by TCP once more each time: it may have come back, and then TCP brings
   * its blocks.
   */
  private NoConnectionException leftAlone(
      PeerId peer, Slot slot, @Nullable InetSocketAddress tcpAddress) {
    ConnectFailure last;
    synchronized (slot) {
      last = slot.lastFailure;
    }
    boolean lost = last == ConnectFailure.UNREACHABLE
        && tcpAddress != null
        && !isHostAnswering(slot, tcpAddress);
    return new NoConnectionException(
        peer,
        lost ? ConnectFailure.UNREACHABLE : ConnectFailure.BREAKER,
        "left alone for " + settings.breakerOpenMs() + " ms after " + last);
  }

  /** Whether the host of a connection's peer answers TCP; true if it cannot be asked. */
  boolean isHostAnswering(Connection connection) {
    InetSocketAddress tcpAddress = connection.tcpAddress();
    Slot slot = slots.get(connection.peer());
    return tcpAddress == null || slot == null || isHostAnswering(slot, tcpAddress);
  }

  /** Those who ask at the same time share one answer, and silence is believed for a while. */
  private static boolean isHostAnswering(Slot slot, InetSocketAddress tcpAddress) {
    long nowNs = System.nanoTime();
    InetSocketAddress resolved = TcpProbe.resolve(tcpAddress);
    synchronized (slot.probeLock) {
      long validNs = slot.hostAnswered ? 0 : SILENCE_BELIEVED_NS;
      if (!resolved.equals(slot.asked) || slot.askedNs + validNs - nowNs < 0) {
        slot.hostAnswered = TcpProbe.isAnswered(resolved);
        slot.asked = resolved;
        slot.askedNs = System.nanoTime();
      }
      return slot.hostAnswered;
    }
  }

  private void connectNow(
      PeerId peer,
      Slot slot,
      CompletableFuture<Connection> attempt,
      @Nullable InetSocketAddress tcpAddress,
      Deadline deadline)
      throws InterruptedException {
    try {
      Connection connection = connectOrCount(peer, slot, tcpAddress, deadline);
      connection.tcpAddress(tcpAddress);
      synchronized (slot) {
        if (slot.wasConnected) {
          stats.reconnects.increment();
        }
        slot.wasConnected = true;
        slot.fellSilent = false;
      }
      attempt.complete(connection);
      LOG.info("RDMA peer={} qp={} event=CONNECTED", peer, connection.queuePairNumber());
      if (closed) {
        connection.breakWith(closedHere());
      }
    } catch (NoConnectionException e) {
      attempt.completeExceptionally(e);
    } catch (Throwable t) {
      slot.breaker.undecided();
      attempt.completeExceptionally(
          new NoConnectionException(peer, ConnectFailure.CLOSED, "the attempt was ended", t));
      throw t;
    }
  }

  private Connection connectOrCount(
      PeerId peer, Slot slot, @Nullable InetSocketAddress tcpAddress, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    try {
      checkNotLost(peer, slot, tcpAddress);
      return connectWithin(peer, deadline.atMostMs(settings.connectTimeoutMs()));
    } catch (NoConnectionException e) {
      NoConnectionException known = isLost(e, slot, tcpAddress) ? e.unreachable(peer) : e;
      countFailure(peer, slot, known.failure());
      LOG.warn("{}", known.getMessage());
      throw known;
    }
  }

  private Connection connectWithin(PeerId peer, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    Connector.Unproved made = makeRoomAndConnect(peer, deadline);
    connector.prove(made, deadline);
    return made.connection();
  }

  /** Where this side has no room for one more connection, the one that was idle longest makes it. */
  private Connector.Unproved makeRoomAndConnect(PeerId peer, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    try {
      return connectInPlace(peer, deadline);
    } catch (NoConnectionException e) {
      if (e.failure() != ConnectFailure.RESOURCES || deadline.expired() || !evictIdlest()) {
        throw e;
      }
    }
    awaitTakenDown(deadline);
    return connectInPlace(peer, deadline);
  }

  private Connector.Unproved connectInPlace(PeerId peer, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    takePlace(peer, deadline);
    Connector.Unproved made = null;
    try {
      made = connector.connect(peer, this, deadline);
      return made;
    } finally {
      synchronized (connections) {
        attempts--;
        if (made != null) {
          connections.add(made.connection());
        }
      }
    }
  }

  /** Attempts count as connections, so that the completion queue has room for all that come of them. */
  private void takePlace(PeerId peer, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    synchronized (connections) {
      while (connections.size() + attempts >= maxConnections) {
        if (deadline.expired() || (!isAnyBroken() && !evictIdlest())) {
          throw new NoConnectionException(
              peer, ConnectFailure.RESOURCES, maxConnections + " connections are in use");
        }
        awaitTakenDown(deadline);
      }
      attempts++;
    }
  }

  private boolean isAnyBroken() {
    return connections.stream().anyMatch(connection -> !connection.isOpen());
  }

  /** False if each has been in use lately. */
  private boolean evictIdlest() {
    Optional<Connection> idlest = connections.stream()
        .filter(connection -> connection.isOpen() && connection.idleNs() >= MIN_IDLE_NS)
        .max(Comparator.comparingLong(Connection::idleNs));
    idlest.ifPresent(connection -> connection.breakWith(
        new Breakage(Breakage.Kind.EVICTED, "its place is needed for another peer")));
    return idlest.isPresent();
  }

  /** Waits while a broken connection is being destroyed, which gives back what it holds. */
  private void awaitTakenDown(Deadline deadline) throws InterruptedException {
    synchronized (connections) {
      if (isAnyBroken() && !deadline.expired()) {
        TimeUnit.NANOSECONDS.timedWait(connections, Math.max(1, deadline.remainingNs()));
      }
    }
  }

  /** A peer whose device has just fallen silent is not waited for again if its host is silent, too. */
  private static void checkNotLost(PeerId peer, Slot slot, @Nullable InetSocketAddress tcpAddress)
      throws NoConnectionException {
    boolean fellSilent;
    synchronized (slot) {
      fellSilent = slot.fellSilent;
    }
    if (fellSilent && tcpAddress != null && !isHostAnswering(slot, tcpAddress)) {
      throw new NoConnectionException(
          peer, ConnectFailure.UNREACHABLE, "its READs were not answered, nor is TCP");
    }
  }

  private static boolean isLost(
      NoConnectionException e, Slot slot, @Nullable InetSocketAddress tcpAddress) {
    return (e.failure() == ConnectFailure.TIMEOUT || e.failure() == ConnectFailure.CANARY)
        && tcpAddress != null
        && !isHostAnswering(slot, tcpAddress);
  }

  private void countFailure(PeerId peer, Slot slot, ConnectFailure failure) {
    stats.countConnectFailure(failure);
    if (failure == ConnectFailure.RESOURCES) { // this side's shortage, not the peer's failure
      slot.breaker.undecided();
      return;
    }
    synchronized (slot) {
      slot.lastFailure = failure;
    }
    boolean opened =
        failure == ConnectFailure.UNREACHABLE ? slot.breaker.trip() : slot.breaker.failed();
    if (opened) {
      stats.breakersOpened.increment();
      LOG.warn(
          "RDMA peer={} event=BREAKER_OPEN action=left alone for {} ms",
          peer,
          settings.breakerOpenMs());
    }
  }

  private static Connection await(
      PeerId peer, CompletableFuture<Connection> attempt, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    try {
      return attempt.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw new NoConnectionException(
          peer, ConnectFailure.TIMEOUT, "another's attempt did not end in time");
    } catch (ExecutionException e) {
      if (e.getCause() instanceof NoConnectionException known) {
        throw known.forWaiter(peer);
      }
      throw new IllegalStateException("an attempt ends with a connection or the reason", e);
    }
  }

  @Override
  public void progressed(Connection connection) {
    Slot slot = slots.get(connection.peer());
    if (slot != null) {
      slot.breaker.succeeded();
    }
  }

  @Override
  public void broken(Connection connection) {
    Breakage breakage = connection.breakage();
    try {
      if (breakage != null && breakage.kind() != Breakage.Kind.CLOSED) {
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

  /** A peer that leaves while nothing is read from it has not failed. */
  private void report(Connection connection, Breakage breakage) {
    PeerId peer = connection.peer();
    int outstanding = connection.outstandingLists();
    if (breakage.kind() == Breakage.Kind.EVICTED) {
      stats.connectionsEvicted.increment();
      LOG.debug("RDMA peer={} qp={} event=EVICTED", peer, connection.queuePairNumber());
      return;
    }
    if (breakage.kind() == Breakage.Kind.DISCONNECTED && outstanding == 0) {
      LOG.info("RDMA peer={} qp={} event=LEFT", peer, connection.queuePairNumber());
      return;
    }
    stats.connectionsFailed.increment();
    LOG.warn(
        "RDMA peer={} qp={} event={} outstanding={} action=tear down",
        peer,
        connection.queuePairNumber(),
        breakage,
        outstanding);
    Slot slot = slots.get(peer);
    if (slot != null) {
      synchronized (slot) {
        slot.fellSilent = breakage.kind() == Breakage.Kind.NO_ANSWER;
      }
      countFailure(peer, slot, failureAfter(breakage.kind()));
    }
  }

  private static ConnectFailure failureAfter(Breakage.Kind kind) {
    return switch (kind) {
      case PEER_UNREACHABLE -> ConnectFailure.UNREACHABLE;
      case NO_PROGRESS, NO_ANSWER -> ConnectFailure.TIMEOUT;
      case READ_ERROR, POST_REFUSED, DISCONNECTED, ABANDONED, DEVICE, EVICTED, CLOSED ->
        ConnectFailure.REFUSED;
    };
  }

  private void destroy(Connection connection, Deadline drained) {
    loop.forget(connection.id());
    try {
      connection.destroy(drained);
    } finally {
      synchronized (connections) {
        connections.remove(connection);
        connections.notifyAll();
      }
      forget(connection);
    }
  }

  /** A peer that does not come back must not keep its last connection in memory. */
  private void forget(Connection connection) {
    Slot slot = slots.get(connection.peer());
    if (slot != null) {
      synchronized (slot) {
        if (slot.current != null && isOver(slot.current)) {
          slot.current = null;
        }
      }
    }
  }

  /** Drops what is known of peers without a connection that nobody has asked for so long. */
  void forgetUnused(long unusedMs) {
    long unusedNs = TimeUnit.MILLISECONDS.toNanos(unusedMs);
    for (PeerId peer : slots.keySet()) {
      slots.computeIfPresent(peer, (key, slot) -> slot.isUnused(unusedNs) ? null : slot);
    }
  }

  Set<Connection> connections() {
    return connections;
  }

  void breakQueuePair(int number, Breakage reason) {
    for (Connection connection : connections) {
      if (connection.queuePairNumber() == number) {
        connection.breakWith(reason);
      }
    }
  }

  /** Breaks every connection for the same reason and makes no new one. */
  void close(Breakage reason) {
    closed = true;
    for (Connection connection : connections) {
      try {
        connection.breakWith(reason);
      } catch (RuntimeException | Error e) { // the others must end as well
        LOG.error("The connection to {} did not end well", connection.peer(), e);
      }
    }
  }

  private static Breakage closedHere() {
    return new Breakage(Breakage.Kind.CLOSED, "this transport is closed");
  }
}
