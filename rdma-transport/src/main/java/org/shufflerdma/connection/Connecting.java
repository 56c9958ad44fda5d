/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;

/**
 * An attempt to connect to a peer, shared by all who want the connection: it waits in line for a place, and then tries
 * until there is a connection or a reason why there is none. A peer to which many connect at once and that turns some
 * away is asked again, later each time; where the device has nothing left for one more connection, one that is idle
 * makes room. Nobody has to wait for it: those who want to know are called. Any thread may call.
 */
public final class Connecting {
  /** Between tries to connect to a peer, or with a device, that has no place. */
  private static final int FIRST_PAUSE_MS = 20;

  private static final int LONGEST_PAUSE_MS = 640;

  private record Watcher(Runnable told, long sinceNs) {}

  private final Attempts attempts;
  private final PeerState state;
  private final int connectTimeoutMs;

  // Guarded by this.
  private Deadline placeBy;
  private List<Watcher> watchers = new ArrayList<>();
  private long placedNs;
  private @Nullable Dial dial;
  private int pauseMs = FIRST_PAUSE_MS;

  /** Until when another try may begin, once there has been one. */
  private @Nullable Deadline retryBy;

  private @Nullable Deadline pausedUntil;

  /** Whether a connection was being destroyed when the last try began, which may have left its room too late for it. */
  private boolean roomWasBeingMade;

  /** How many queue pairs had been created when this attempt last ended a connection; -1 if it has ended none. */
  private long createdWhenItEndedOne = -1;

  private boolean isBeingAsked;
  private boolean silent;
  private boolean ending;
  private boolean ended;
  private @Nullable Connection connection;
  private @Nullable NoConnectionException refusal;

  /** @param placeBy until when it waits for a place */
  Connecting(Attempts attempts, PeerState state, Deadline placeBy, int connectTimeoutMs) {
    this.attempts = attempts;
    this.state = state;
    this.placeBy = placeBy;
    this.connectTimeoutMs = connectTimeoutMs;
  }

  PeerState state() {
    return state;
  }

  PeerId peer() {
    return state.peer();
  }

  /** Another caller wants it, and would wait for a place until then. */
  synchronized void sharedUntil(Deadline other) {
    if (other.remainingNs() > placeBy.remainingNs()) {
      placeBy = other;
    }
  }

  synchronized boolean isTooLateForPlace() {
    return placeBy.expired();
  }

  /** Whether it is in line, as there are as many connections or attempts as there may be. */
  public synchronized boolean isWaitingForPlace() {
    return !ended && placedNs == 0;
  }

  /** When it got its place, by {@link System#nanoTime}; 0 if it has had none. */
  synchronized long placedNs() {
    return placedNs;
  }

  /** Whether there is an outcome. */
  public synchronized boolean hasEnded() {
    return ended;
  }

  /** Whether it has ended without a connection, or its connection is broken by now. */
  synchronized boolean isOver() {
    return ended && (connection == null || !connection.isOpen());
  }

  /** Returns the connection that it has led to, which may be broken by now. */
  synchronized @Nullable Connection connection() {
    return connection;
  }

  /** Throws why there is no connection, unless there is one, or nobody wanted it any more. */
  public synchronized void throwRefusal() throws NoConnectionException {
    if (refusal != null) {
      throw refusal.forWaiter(peer());
    }
  }

  /**
   * Whether the peer keeps the attempt waiting, so that others may be begun beside it. An attempt in line, or one that
   * has something to do, is not silent.
   */
  public synchronized boolean isSilent() {
    return silent;
  }

  /** Has a watcher called each time that the attempt has become silent, and once when it has ended; at once if it has. */
  public void watch(Runnable watcher) {
    boolean isOver;
    synchronized (this) {
      isOver = ended;
      if (!isOver) {
        watchers.add(new Watcher(watcher, System.nanoTime()));
      }
      if (!isOver && !silent) {
        return;
      }
    }
    if (isOver) {
      attempts.waitedSince(System.nanoTime()); // each that asks counts as one that has waited
    }
    watcher.run();
  }

  /** Whether the peer's host is being asked by TCP, which may take long. */
  synchronized void beingAsked(boolean isAsked) {
    isBeingAsked = isAsked;
  }

  /** It has a place, and connects from now on. */
  void placed() {
    synchronized (this) {
      placedNs = System.nanoTime();
      retryBy = Deadline.afterMs(connectTimeoutMs);
    }
    beginTry();
  }

  private void beginTry() {
    boolean isMakingRoom = attempts.isMakingRoom();
    Dial next = attempts.newTry(this, new Try());
    synchronized (this) {
      pausedUntil = null;
      roomWasBeingMade = isMakingRoom;
      if (ending) {
        return;
      }
      dial = next;
    }
    next.begin();
  }

  /**
   * Goes on where nothing comes that would drive the attempt, and notices silence. Called now and then.
   *
   * @param silentNs after how many nanoseconds without an answer a peer counts as silent
   */
  void look(long silentNs) {
    Dial current;
    boolean pauseIsOver;
    List<Watcher> told = List.of();
    synchronized (this) {
      current = dial;
      pauseIsOver = pausedUntil != null && pausedUntil.expired() && !ending;
      boolean wasSilent = silent;
      silent =
          isBeingAsked || pausedUntil != null || (current != null && current.isSilent(silentNs));
      if (silent && !wasSilent) {
        told = List.copyOf(watchers);
      }
    }
    told.forEach(watcher -> watcher.told.run());
    if (pauseIsOver) {
      beginTry();
    } else if (current != null) {
      current.look();
    }
  }

  /** Ends the attempt, whatever it waits for. */
  void end(NoConnectionException why) {
    Dial current;
    synchronized (this) {
      if (ending) {
        return;
      }
      ending = true;
      current = dial;
    }
    if (current != null) {
      current.end(why);
    } else {
      leave(why);
    }
  }

  private void leave(NoConnectionException why) {
    attempts.leftPlace(this, null);
    attempts.failed(this, why);
  }

  /** Nobody wants the connection any more. */
  void unwanted() {
    outcome(null, null);
  }

  void refuse(NoConnectionException why) {
    outcome(null, why);
  }

  private void outcome(@Nullable Connection made, @Nullable NoConnectionException why) {
    List<Watcher> told;
    synchronized (this) {
      if (ended) {
        return;
      }
      ending = true;
      ended = true;
      connection = made;
      refusal = why;
      dial = null;
      told = watchers;
      watchers = List.of(); // an open connection keeps none of them in memory
      notifyAll();
    }
    for (Watcher watcher : told) {
      attempts.waitedSince(watcher.sinceNs);
      watcher.told.run();
    }
  }

  /** Waits for the outcome; false at the deadline. */
  synchronized boolean await(Deadline deadline) throws InterruptedException {
    while (!ended && !deadline.expired()) {
      TimeUnit.NANOSECONDS.timedWait(this, deadline.remainingNs());
    }
    return ended;
  }

  /**
   * Whether another try follows the one that has failed.
   *
   * @param foundRoom whether the device had made a queue pair for it
   */
  private boolean goesOn(NoConnectionException why, boolean foundRoom) {
    boolean lacksRoom = why.failure() == PeerFailure.RESOURCES && !foundRoom;
    if (!state.isWanted() || !(lacksRoom || why.failure() == PeerFailure.TOO_MANY)) {
      return false;
    }
    int ms;
    synchronized (this) {
      ms = ThreadLocalRandom.current().nextInt(pauseMs / 2, pauseMs);
      if (ending || retryBy == null || retryBy.remainingMs() <= ms) {
        return false;
      }
    }
    if (lacksRoom && !mayFindRoom()) {
      return false;
    }
    synchronized (this) {
      if (ending) {
        return false;
      }
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      pausedUntil = Deadline.afterMs(ms);
      return true;
    }
  }

  /**
   * Whether the device may have room for the next try. This attempt ends a connection for that once, so that a device
   * that creates nothing any more does not cost all idle ones; and once more if another attempt has got a queue pair
   * since, which may have taken the room.
   */
  private boolean mayFindRoom() {
    long created = attempts.queuePairsCreated();
    boolean mayEndOne;
    boolean wasBeingMade;
    synchronized (this) {
      mayEndOne = created != createdWhenItEndedOne;
      wasBeingMade = roomWasBeingMade;
    }
    if (attempts.endsOneFor(this, mayEndOne)) {
      synchronized (this) {
        createdWhenItEndedOne = created;
      }
      return true;
    }
    return wasBeingMade || attempts.isMakingRoom();
  }

  private synchronized void forgetTry() {
    dial = null;
  }

  private final class Try implements Dial.Caller {
    /** Written and read under the lock of the {@link Dial}. */
    private boolean foundRoom;

    @Override
    public void foundRoom() {
      foundRoom = true;
      attempts.foundRoom(Connecting.this);
    }

    @Override
    public void established(Connection made) {
      attempts.leftPlace(Connecting.this, made);
    }

    @Override
    public void connected(Connection made) {
      try {
        attempts.succeeded(Connecting.this, made);
      } finally {
        outcome(made, null);
      }
    }

    @Override
    public void failed(NoConnectionException why, boolean wasEstablished) {
      forgetTry();
      if (wasEstablished) {
        attempts.failed(Connecting.this, why);
        return;
      }
      boolean goesOn = false;
      try {
        goesOn = goesOn(why, foundRoom);
      } finally {
        if (!goesOn) {
          leave(why);
        }
      }
    }
  }
}
