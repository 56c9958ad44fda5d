/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.metrics.LatencyHistogram;

/**
 * The threads that wait for something of a {@link BufferPool}, in the order in which they came. After a change each of them looks, in
 * that order, so that what comes back goes to whoever has waited longest and can use it. All methods but {@link #waits} are called with
 * the pool's lock, which nobody holds while it waits.
 */
final class WaitingLine<T> {
  /** How often a thread that waits looks although nothing has changed in this pool. */
  private static final long STEP_NS = TimeUnit.MILLISECONDS.toNanos(50);

  private final Condition changed;
  private final Deque<Turn> turns = new ArrayDeque<>();
  private long changes;
  private final LatencyHistogram waits = new LatencyHistogram();

  /** The place of one thread. */
  private static final class Turn {
    /** The number of changes when it last began to look; -1 if it is to look in any case. */
    private long sawChanges = -1;

    /** While it registers a slab, or waits for one, it keeps no others from looking. */
    private boolean isLooking;
  }

  /** Looks for what is waited for. It may give the lock up for a while. */
  interface Look<T> {
    /** Null if there is none now. */
    @Nullable
    T look() throws IOException;
  }

  /** The condition is one of the pool's lock. */
  WaitingLine(Condition changed) {
    this.changed = changed;
  }

  /** Looks until there is something, or until the deadline: null. */
  @Nullable
  T await(Look<T> look, Deadline deadline) throws IOException, InterruptedException {
    Turn turn = new Turn();
    turns.add(turn);
    try {
      T found = lookInTurn(turn, look);
      return found == null ? awaitChanges(turn, look, deadline) : found;
    } finally {
      turns.remove(turn);
      changed.signalAll(); // of those behind it
    }
  }

  private @Nullable T awaitChanges(Turn turn, Look<T> look, Deadline deadline)
      throws IOException, InterruptedException {
    long startNs = System.nanoTime();
    Deadline step = Deadline.afterNs(STEP_NS);
    T found = null;
    try {
      while (found == null && !deadline.expired()) {
        changed.awaitNanos(step.orSooner(deadline).remainingNs());
        if (step.orSooner(deadline).expired()) {
          turn.sawChanges = -1; // nobody tells when another pool has given back what they share
          step = Deadline.afterNs(STEP_NS);
        }
        found = lookInTurn(turn, look);
      }
      return found;
    } finally {
      waits.recordSince(startNs);
    }
  }

  /** Null if there is nothing, or those that came earlier have not looked yet since something has changed. */
  private @Nullable T lookInTurn(Turn turn, Look<T> look) throws IOException {
    while (turn.sawChanges != changes && haveLooked(turn)) {
      turn.sawChanges = changes;
      turn.isLooking = true;
      T found;
      try {
        found = look.look();
      } finally {
        turn.isLooking = false;
      }
      if (found != null) {
        return found;
      }
      changed.signalAll(); // to whoever is next
    }
    return null;
  }

  /** Returns whether all who wait have looked since the last change. */
  boolean haveLooked() {
    return haveLooked(null);
  }

  /** Of all who came before that turn. */
  private boolean haveLooked(@Nullable Turn before) {
    for (Turn turn : turns) {
      if (turn == before) {
        return true;
      }
      if (turn.sawChanges != changes && !turn.isLooking) {
        return false;
      }
    }
    return true;
  }

  /** Something has come back, or has come or gone, so that all are to look. */
  void tellOfChange() {
    changes++;
    changed.signalAll();
  }

  /** How long those waited that did not find anything at once, also those in vain. Any thread may call. */
  LatencyHistogram waits() {
    return waits;
  }
}
