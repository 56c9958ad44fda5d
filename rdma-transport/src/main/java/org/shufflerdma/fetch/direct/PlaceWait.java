/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.util.concurrent.TimeUnit;

/** How long a task has wanted to ask an owner for one thing more in vain. Used by the task's thread alone. */
final class PlaceWait {
  /** A task asks at least ten times a second while it waits; else it has been busy, and did not wait. */
  private static final long BUSY_NS = TimeUnit.SECONDS.toNanos(1);

  private boolean waits;
  private long sinceNs;
  private long lastNs;

  boolean waits() {
    return waits;
  }

  /** The task has asked. */
  void ended() {
    waits = false;
  }

  /** Another attempt was in vain; returns whether that has been so for {@code timeoutMs}. */
  boolean isOver(int timeoutMs) {
    long nowNs = System.nanoTime();
    if (!waits || nowNs - lastNs > BUSY_NS) {
      sinceNs = nowNs;
    }
    waits = true;
    lastNs = nowNs;
    return nowNs - sinceNs > TimeUnit.MILLISECONDS.toNanos(timeoutMs);
  }
}
