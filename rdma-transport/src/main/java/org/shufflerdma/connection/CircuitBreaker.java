/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Leaves a peer alone after a number of failures in a row, for a while; then lets one attempt
 * through to see whether it is well again.
 *
 * <pre>
 *   CLOSED --failures--> OPEN --time--> HALF_OPEN --success--> CLOSED
 *                          ^------------failure------'
 * </pre>
 */
final class CircuitBreaker {
  private enum State {
    CLOSED,
    OPEN,
    HALF_OPEN
  }

  private final int failureLimit;
  private final long openNs;
  private final LongSupplier nanoClock;
  private State state = State.CLOSED;
  private int failures;
  private long stateSinceNs;

  CircuitBreaker(int failureLimit, long openMs, LongSupplier nanoClock) {
    this.failureLimit = failureLimit;
    this.openNs = TimeUnit.MILLISECONDS.toNanos(openMs);
    this.nanoClock = nanoClock;
  }

  /** Returns whether an attempt may be made now; a half-open breaker admits one per open time. */
  synchronized boolean admits() {
    boolean admitted = wouldAdmit();
    if (admitted && state != State.CLOSED) {
      enter(State.HALF_OPEN);
    }
    return admitted;
  }

  /** Returns what {@link #admits} would return now, without admitting an attempt. */
  synchronized boolean wouldAdmit() {
    return state == State.CLOSED || nanoClock.getAsLong() - stateSinceNs >= openNs;
  }

  /** The attempt that was admitted ended without telling anything about the peer. */
  synchronized void undecided() {
    if (state == State.HALF_OPEN) {
      stateSinceNs = nanoClock.getAsLong() - openNs;
    }
  }

  synchronized void succeeded() {
    failures = 0;
    state = State.CLOSED;
  }

  /** True if this failure opened the breaker. */
  synchronized boolean failed() {
    failures++;
    boolean opens = state == State.HALF_OPEN || (state == State.CLOSED && failures >= failureLimit);
    if (opens) {
      enter(State.OPEN);
    }
    return opens;
  }

  /** Opens the breaker at once; true if it was not open. */
  synchronized boolean trip() {
    boolean opens = state != State.OPEN;
    enter(State.OPEN);
    return opens;
  }

  private void enter(State next) {
    state = next;
    stateSinceNs = nanoClock.getAsLong();
  }
}
