/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** Lets one log line through per interval and counts those that it held back. Thread-safe. */
public final class LogThrottle {
  private static final long NEVER = Long.MIN_VALUE;

  private final long intervalNs;
  private final LongSupplier nanoClock;
  private final AtomicLong lastNs = new AtomicLong(NEVER);
  private final AtomicLong held = new AtomicLong();

  /** Lets one line through per minute. */
  public LogThrottle() {
    this(TimeUnit.MINUTES.toNanos(1), System::nanoTime);
  }

  public LogThrottle(long intervalNs, LongSupplier nanoClock) {
    this.intervalNs = intervalNs;
    this.nanoClock = nanoClock;
  }

  /**
   * Decides whether the caller logs now.
   *
   * @return -1 to stay silent, or else the number of lines held back since the last one
   */
  public long tryLog() {
    long now = nanoClock.getAsLong();
    long last = lastNs.get();
    if ((last == NEVER || now - last >= intervalNs) && lastNs.compareAndSet(last, now)) {
      return held.getAndSet(0);
    }
    held.incrementAndGet();
    return -1;
  }
}
