/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The places for a transport's outgoing connections. An attempt to connect takes a place first, and its connection
 * keeps it until the queue pair is destroyed. Attempts that find no place wait in line, and a connection ends for each of
 * them: those of whose peers no task has anything to read, and then those that have been idle for longest. One ends also
 * for an attempt that has a place and for which the device has no room. Attempts also wait in line while many are under
 * way whose peers answer; those whose peers are silent keep nobody waiting. Any thread may call, and no call waits.
 */
final class ConnectionLimit {
  /** A connection that was in use more lately than this keeps its place. */
  private static final long MIN_IDLE_NS = TimeUnit.SECONDS.toNanos(1);

  /** The same for one whose peer no task wants: it may have been handed out for another purpose just now. */
  private static final long MIN_UNWANTED_NS = TimeUnit.MILLISECONDS.toNanos(20);

  private final int places;
  private final AnswerTime answerTime;
  private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

  // Guarded by this, as are additions to connections.
  private final Deque<Connecting> line = new ArrayDeque<>();
  private final Set<Connecting> underWay = new LinkedHashSet<>();

  /** The places of attempts that have no connection yet. */
  private final Set<Connecting> placed = new LinkedHashSet<>();

  /** Those of them for which the device had no room when they tried. */
  private final Set<Connecting> lacking = new HashSet<>();

  private boolean closed;

  ConnectionLimit(int places, AnswerTime answerTime) {
    this.places = places;
    this.answerTime = answerTime;
  }

  int places() {
    return places;
  }

  /** The places of connections, and of attempts. */
  synchronized int inUse() {
    return connections.size() + placed.size();
  }

  /** The connections whose queue pairs are not destroyed yet, broken ones included. */
  Set<Connection> connections() {
    return connections;
  }

  /** Has the attempt begin as soon as it is its turn; false if this is closed. */
  boolean enter(Connecting attempt) {
    synchronized (this) {
      if (closed) {
        return false;
      }
      line.add(attempt);
    }
    admit();
    return true;
  }

  /** Has those begin whose turn it is, and ends as many connections as are lacking. */
  void admit() {
    Connecting next;
    while ((next = next()) != null) {
      next.placed();
    }
    Connection idlest;
    while ((idlest = inTheWay()) != null) {
      end(idlest);
    }
  }

  private synchronized @Nullable Connecting next() {
    boolean hasPlace = inUse() < places;
    if (closed || line.isEmpty() || !hasPlace || answering() >= answerTime.attemptsAtOnce()) {
      return null;
    }
    Connecting first = line.remove();
    placed.add(first);
    underWay.add(first);
    return first;
  }

  private long answering() {
    return underWay.stream().filter(attempt -> !attempt.isSilent()).count();
  }

  private synchronized @Nullable Connection inTheWay() {
    int lacking = inUse() + line.size() - places;
    return line.isEmpty() || beingDestroyed() >= Math.min(lacking, line.size()) ? null : idlest();
  }

  /** The attempts that wait in line. */
  synchronized List<Connecting> line() {
    return List.copyOf(line);
  }

  /** Takes an attempt out of the line; false if it is not in there. */
  synchronized boolean leaveLine(Connecting attempt) {
    return line.remove(attempt);
  }

  /** The attempt needs no place any more, or its connection has it from now on. */
  void leftPlace(Connecting attempt, @Nullable Connection made) {
    synchronized (this) {
      lacking.remove(attempt);
      if (placed.remove(attempt) && made != null) {
        connections.add(made);
      }
    }
    admit();
  }

  /** The attempt is over. */
  void ended(Connecting attempt) {
    synchronized (this) {
      underWay.remove(attempt);
    }
    admit();
  }

  /** The connection's queue pair has been destroyed. */
  void destroyed(Connection connection) {
    synchronized (this) {
      connections.remove(connection);
    }
    admit();
  }

  /** The device has made a queue pair for an attempt that may have lacked room before. */
  synchronized void foundRoom(Connecting attempt) {
    lacking.remove(attempt);
  }

  /** Notes that the device has no room for an attempt, which keeps its place. */
  synchronized void lacksRoom(Connecting attempt) {
    if (placed.contains(attempt)) {
      lacking.add(attempt);
    }
  }

  /**
   * Ends the connection that can be done without most easily, unless as many are being destroyed as there are attempts
   * that lack room. Returns whether it has ended one.
   */
  boolean endsOneForRoom() {
    Connection idlest;
    while ((idlest = inTheWayOfLacking()) != null) {
      if (end(idlest)) { // else another thread has ended it for its own attempt
        return true;
      }
    }
    return false;
  }

  private synchronized @Nullable Connection inTheWayOfLacking() {
    return beingDestroyed() < lacking.size() ? idlest() : null;
  }

  /** Whether a connection is being destroyed, so that the device has room for another one soon. */
  boolean isMakingRoom() {
    return beingDestroyed() > 0;
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

  /** False if it has ended already. */
  private static boolean end(Connection idle) {
    return idle.breakWith(PeerFailure.EVICTED, "its place is needed for another peer");
  }

  /** Gives no more places. */
  synchronized void close() {
    closed = true;
    line.clear();
  }
}
