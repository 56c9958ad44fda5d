/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * After several registrations in a row that the device refused, none is tried for a minute: what it
 * lacks seldom comes back sooner, and each attempt costs the task that makes it. Any thread may call.
 */
final class RegistrationPause {
  private static final int FAILURES_BEFORE_PAUSE = 5;
  private static final long PAUSE_NS = TimeUnit.SECONDS.toNanos(60);

  private final LongSupplier nanoClock;

  // Guarded by this.
  private int failuresInARow;
  private long pausedUntilNs;

  RegistrationPause(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  synchronized void note(boolean succeeded) {
    failuresInARow = succeeded ? 0 : failuresInARow + 1;
    pausedUntilNs = nanoClock.getAsLong() + PAUSE_NS;
  }

  synchronized void refuseWhilePaused() throws NotPublishedException {
    if (failuresInARow >= FAILURES_BEFORE_PAUSE && nanoClock.getAsLong() - pausedUntilNs < 0) {
      throw new NotPublishedException(
          UnpublishedReason.REGISTRATION,
          "the last " + failuresInARow + " registrations failed; the next is tried in up to "
              + TimeUnit.NANOSECONDS.toSeconds(PAUSE_NS) + " s");
    }
  }
}
