/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** Waits for what another thread, or another process, brings about. */
public final class Await {
  private static final int PAUSE_MS = 10;
  private static final int MOST_MS = 120_000;

  private Await() {}

  /** For two minutes at most, unless the test's own timeout ends it sooner. */
  public static void until(Callable<Boolean> condition) throws Exception {
    until("what the test waits for", MOST_MS, condition);
  }

  /** Fails if the condition does not hold in time. */
  public static void until(String what, long timeoutMs, Callable<Boolean> condition)
      throws Exception {
    if (!atMost(timeoutMs, condition)) {
      throw new AssertionError("not within " + timeoutMs + " ms: " + what);
    }
  }

  /** Returns whether the condition has come to hold, for tests that say themselves what follows. */
  public static boolean atMost(long timeoutMs, Callable<Boolean> condition) throws Exception {
    Deadline deadline = Deadline.afterMs(timeoutMs);
    while (!condition.call()) {
      if (deadline.expired()) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(PAUSE_MS);
    }
    return true;
  }
}
