/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import java.util.concurrent.TimeUnit;

/**
 * A point in monotonic time until which its holder may wait. It is passed down a call chain, so
 * that all waits of one operation share one limit. Immutable.
 *
 * @param deadlineNs the value of {@link System#nanoTime} at that point
 */
public record Deadline(long deadlineNs) {
  public static Deadline afterMs(long timeoutMs) {
    return afterNs(TimeUnit.MILLISECONDS.toNanos(timeoutMs));
  }

  public static Deadline afterNs(long timeoutNs) {
    return new Deadline(System.nanoTime() + timeoutNs);
  }

  public boolean expired() {
    return remainingNs() == 0;
  }

  /** Whether it is over at that point in {@link System#nanoTime}. */
  public boolean isOver(long nowNs) {
    return deadlineNs - nowNs <= 0;
  }

  public long remainingNs() {
    return Math.max(0, deadlineNs - System.nanoTime());
  }

  /**
   * Returns the remaining time in milliseconds, rounded up so that a wait of this length reaches
   * the deadline, and limited to an int.
   */
  public int remainingMs() {
    long ms = TimeUnit.NANOSECONDS.toMillis(remainingNs() + TimeUnit.MILLISECONDS.toNanos(1) - 1);
    return (int) Math.min(ms, Integer.MAX_VALUE);
  }

  /** Returns the earlier of this deadline and {@code timeoutMs} from now. */
  public Deadline atMostMs(long timeoutMs) {
    return orSooner(afterMs(timeoutMs));
  }

  /** The sooner of both. */
  public Deadline orSooner(Deadline other) {
    return other.deadlineNs - deadlineNs < 0 ? other : this;
  }
}
