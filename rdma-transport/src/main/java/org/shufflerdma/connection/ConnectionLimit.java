/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;

/**
 * The places for a transport's outgoing connections. An attempt to connect takes a place first, and
 * its connection keeps it until the queue pair is destroyed, so that the completion queue has room
 * for all of them. Threads that find no place wait in line, and the first of them ends a connection for each: those
 * of whose peers no task has anything to read, and then those that have been idle for longest. Any thread may call; no
 * call but {@link #take} waits.
 */
final class ConnectionLimit {
  /** A connection that was in use more lately than this keeps its place. */
  private static final long MIN_IDLE_NS = TimeUnit.SECONDS.toNanos(1);

  /** The same for one whose peer no task wants: it may have been handed out for another purpose just now. */
  private static final long MIN_UNWANTED_NS = TimeUnit.MILLISECONDS.toNanos(20);

  /** How often a waiting thread looks whether a connection has become idle, or its caller left. */
  private static final long LOOK_NS = TimeUnit.MILLISECONDS.toNanos(20);

  enum Outcome {
    TAKEN,
    /** No place became free before the deadline. */
    EXPIRED,
    /** The caller does not need a place any more. */
    NOT_NEEDED,
    CLOSED
  }

  private final int places;
  private final Set<Connection> connections = ConcurrentHashMap.newKeySet();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by lock, as are additions to connections.
  private final Deque<Object> line = new ArrayDeque<>();
  private int attempts;
  private boolean closed;

  ConnectionLimit(int places) {
    this.places = places;
  }

  int places() {
    return places;
  }

  /** The connections whose queue pairs are not destroyed yet, broken ones included. */
  Set<Connection> connections() {
    return connections;
  }

  /**
   * Takes a place for an attempt to connect, and waits for one until the deadline.
   *
   * @param isNeeded is asked again and again while the caller waits, without a lock held
   */
  Outcome take(BooleanSupplier isNeeded, Deadline deadline) throws InterruptedException {
    Object turn = new Object();
    lock.lockInterruptibly();
    try {
      line.add(turn);
    } finally {
      lock.unlock();
    }
    try {
      Outcome outcome = null;
      while (outcome == null) {
        outcome = isNeeded.getAsBoolean() ? takeOrLook(turn, deadline) : Outcome.NOT_NEEDED;
      }
      return outcome;
    } finally {
      change(() -> line.remove(turn));
    }
  }

  @SuppressWarnings("WaitNotInLoop") // the caller asks whether the place is still needed, and loops
  private @Nullable Outcome takeOrLook(Object turn, Deadline deadline) throws InterruptedException {
    Connection idlest = null;
    lock.lockInterruptibly();
    try {
      if (closed) {
        return Outcome.CLOSED;
      }
      boolean isFirst = line.peek() == turn;
      if (isFirst && connections.size() + attempts < places) {
        attempts++;
        return Outcome.TAKEN;
      }
      if (deadline.expired()) {
        return Outcome.EXPIRED;
      }
      idlest = isFirst && beingDestroyed() < line.size() ? idlest() : null;
      if (idlest == null) {
        changed.awaitNanos(Math.min(LOOK_NS, deadline.remainingNs()));
      }
    } finally {
      lock.unlock();
    }
    if (idlest != null) {
      end(idlest);
    }
    return null;
  }

  /** Takes a place for an attempt that can be done without, if at least half of all would stay free. */
  boolean takeSpare() {
    lock.lock();
    try {
      boolean spare = !closed && line.isEmpty() && connections.size() + attempts < places / 2;
      attempts += spare ? 1 : 0;
      return spare;
    } finally {
      lock.unlock();
    }
  }

  /** Makes a change, and wakes all threads that wait for one. */
  private void change(Runnable change) {
    lock.lock();
    try {
      change.run();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Wakes all threads in line, so that they ask whether they still need a place. */
  void lookAgain() {
    change(() -> {});
  }

  /** The attempt that took a place is over; its connection, if there is one, keeps the place. */
  void attemptEnded(@Nullable Connection made) {
    change(() -> {
      attempts--;
      if (made != null) {
        connections.add(made);
      }
    });
  }

  /** The connection's queue pair has been destroyed. */
  void destroyed(Connection connection) {
    change(() -> connections.remove(connection));
  }

  /**
   * Ends the connection that has been idle for longest, and waits until one is destroyed, for a
   * caller whose device lacks what a connection holds. False if there is none to be ended.
   */
  boolean makeRoom(Deadline deadline) throws InterruptedException {
    if (beingDestroyed() == 0) {
      Connection idlest = idlest();
      if (idlest == null) {
        return false;
      }
      end(idlest);
    }
    lock.lockInterruptibly();
    try {
      while (beingDestroyed() > 0 && !deadline.expired()) {
        changed.awaitNanos(deadline.remainingNs());
      }
      return !deadline.expired();
    } finally {
      lock.unlock();
    }
  }

  /** The connection that can be done without most easily; null if all are in use. */
  private @Nullable Connection idlest() {
    return connections.stream()
        .filter(connection -> connection.isOpen() && connection.idleNs() >= leastIdleNs(connection))
        .min(Comparator.<Connection, Boolean>comparing(
                connection -> connection.state().isWanted())
            .thenComparing(Connection::idleNs, Comparator.reverseOrder()))
        .orElse(null);
  }

  private static long leastIdleNs(Connection connection) {
    return connection.state().isWanted() ? MIN_IDLE_NS : MIN_UNWANTED_NS;
  }

  /** The connections that have ended and will give their places back. */
  private long beingDestroyed() {
    return connections.stream().filter(connection -> !connection.isOpen()).count();
  }

  private static void end(Connection idle) {
    idle.breakWith(PeerFailure.EVICTED, "its place is needed for another peer");
  }

  /** Gives no more places; threads in line are told so. */
  void close() {
    change(() -> closed = true);
  }
}
