/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The attempts to connect of a {@link ConnectionPool}: looks after those that are under way or wait in line, has the host
 * of a peer that does not answer asked by TCP, and counts and reports how they end. Any thread may call, and no call
 * waits.
 */
final class Attempts {
  private static final Logger LOG = LoggerFactory.getLogger(Attempts.class);

  /** How often attempts are looked after while there are any. */
  private static final int LOOK_MS = 20;

  /** The verdict on a host may take longer, where its name has to be looked up or many others come first. */
  static final int ASKING_MS = 2 * TcpProbe.TOTAL_MS;

  private final TransportSettings settings;
  private final ConnectionLimit limit;
  private final Connector connector;
  private final Executor prober;
  private final ScheduledExecutorService timer;
  private final TransportStats stats;
  private final Consumer<Connection> whenBroken;
  private final RailReach rails;
  private final Set<Connecting> attempts = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean looks = new AtomicBoolean();
  private volatile boolean closed;

  Attempts(
      TransportSettings settings,
      ConnectionLimit limit,
      Connector connector,
      Executor prober,
      ScheduledExecutorService timer,
      TransportStats stats,
      Consumer<Connection> whenBroken) {
    this.settings = settings;
    this.limit = limit;
    this.connector = connector;
    this.prober = prober;
    this.timer = timer;
    this.stats = stats;
    this.whenBroken = whenBroken;
    this.rails = RailReach.of(settings);
  }

  static NoConnectionException closed(PeerId peer) {
    return new NoConnectionException(peer, PeerFailure.CLOSED, "this transport is closed");
  }

  /** A peer whose device has just fallen silent is not waited for again if its host is silent, too. */
  void start(Connecting attempt) {
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
      attempt.end(closed(attempt.peer()));
    }
  }

  private interface Probed {
    void run(boolean isLost);
  }

  /**
   * Goes on when it is known whether the peer's host answers TCP. That is taken to be so if nobody can ask, or if there is
   * no verdict after {@link #ASKING_MS}.
   */
  private void whenProbed(Connecting attempt, Probed then) {
    AtomicBoolean isTold = new AtomicBoolean();
    Probed once = isLost -> {
      if (isTold.compareAndSet(false, true)) {
        attempt.beingAsked(false);
        then.run(isLost);
      }
    };
    attempt.beingAsked(true);
    try {
      prober.execute(() -> once.run(isLost(attempt.state())));
      ScheduledFuture<?> unused =
          timer.schedule(() -> once.run(false), ASKING_MS, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException | OutOfMemoryError e) { // no thread is to be had
      once.run(false);
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
  void leaveAlone(Connecting attempt) {
    PeerFailure last = attempt.state().lastFailure();
    String why = "left alone for " + settings.breakerOpenMs() + " ms after " + last;
    if (last != PeerFailure.PEER_UNREACHABLE) {
      PeerFailure failure = last == PeerFailure.RAIL ? PeerFailure.RAIL : PeerFailure.BREAKER;
      attempt.refuse(new NoConnectionException(attempt.peer(), failure, why));
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
      } catch (Throwable t) { // the next attempt tries again
        looks.set(false);
        throw t;
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
    String why = limit.inUse() < limit.places()
        ? "many attempts to connect to other peers came first"
        : limit.places() + " connections are in use (" + settings.key("maxConnections") + ")";
    waiting.refuse(new NoConnectionException(waiting.peer(), PeerFailure.RESOURCES, why));
    stats.connectFailures.increment();
    LOG.warn("RDMA peer={} event=NO_PLACE action=TCP, {}", waiting.peer(), why);
  }

  /** Makes a try, which is not begun yet. */
  Dial newTry(Connecting attempt, Dial.Caller caller) {
    return new Dial(connector, attempt.state(), settings.connectTimeoutMs(), whenBroken, caller);
  }

  /** The device has made a queue pair for an attempt. */
  void foundRoom(Connecting attempt) {
    limit.foundRoom(attempt);
  }

  /** The device has no room for an attempt. Returns whether a connection has been ended to make some. */
  boolean endsOneFor(Connecting attempt, boolean mayEndOne) {
    limit.lacksRoom(attempt);
    return mayEndOne && !closed && limit.endsOneForRoom();
  }

  /**
   * Whether the device has room for another connection soon. A connection gives its place back before the entries of its
   * queue pair, which come back with the next poll.
   */
  boolean isMakingRoom() {
    return !closed && (limit.isMakingRoom() || connector.poller().hasActions());
  }

  /** How many queue pairs the device has created for attempts by now. */
  long queuePairsCreated() {
    return stats.queuePairsCreated.sum();
  }

  /** The attempt uses its place no longer, or its connection has it from now on. */
  void leftPlace(Connecting attempt, @Nullable Connection connection) {
    limit.leftPlace(attempt, connection);
  }

  /** The attempt has led to a connection; the caller then ends it. */
  void succeeded(Connecting attempt, Connection connection) {
    over(attempt);
    stats.connectionsOpened.increment();
    if (attempt.state().connected()) {
      stats.reconnects.increment();
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

  /** Ends the attempt with {@link Connecting#refuse}, at once or when more is known of the peer. */
  void failed(Connecting attempt, NoConnectionException why) {
    limit.ended(attempt);
    boolean unanswered =
        why.failure() == PeerFailure.TIMEOUT || why.failure() == PeerFailure.CANARY;
    if (unanswered && !closed) {
      whenProbed(
          attempt,
          isLost -> refuse(
              attempt,
              isLost ? why.unreachable(attempt.peer()) : rails.judge(attempt.peer(), why)));
    } else {
      refuse(attempt, rails.judge(attempt.peer(), why));
    }
  }

  private void refuse(Connecting attempt, NoConnectionException why) {
    try {
      // Else the end of the transport was faster than the verdict on the peer.
      if (over(attempt)) {
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

  /** Somebody has waited for the outcome of an attempt from that point on, by {@link System#nanoTime}. */
  void waitedSince(long startNs) {
    stats.connectionWaits.recordSince(startNs);
  }

  /** A peer that has failed too often is left alone from now on; a shortage is no failure of it. */
  void countFailure(PeerState state, PeerFailure failure) {
    if (failure == PeerFailure.RESOURCES
        || failure == PeerFailure.TOO_MANY
        || failure == PeerFailure.CLOSED) {
      state.undecided();
    } else if (state.failed(failure)) {
      stats.breakersOpened.increment();
      LOG.warn(
          "RDMA peer={} event=BREAKER_OPEN action=left alone for {} ms",
          state.peer(),
          settings.breakerOpenMs());
    }
  }

  boolean isClosed() {
    return closed;
  }

  /** Ends all attempts. Those that are begun from now on end at once. */
  void close() {
    closed = true;
    limit.close();
    attempts.forEach(this::endAsClosed);
  }

  private void endAsClosed(Connecting attempt) {
    try {
      attempt.end(closed(attempt.peer()));
    } catch (RuntimeException e) { // the others must end as well
      LOG.error("The attempt to connect to {} could not be ended", attempt.peer(), e);
    }
  }
}
