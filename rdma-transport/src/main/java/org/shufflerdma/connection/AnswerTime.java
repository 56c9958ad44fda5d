/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How long peers that answer a request for a connection take to do so, and what follows from it for the attempts of an
 * executor. Any thread may call.
 */
final class AnswerTime {
  /** The attempts at a time to peers that answer, while answers take no longer than {@link #USUAL_NS}. */
  private static final int MOST_AT_ONCE = 16;

  private static final int LEAST_AT_ONCE = 2;
  private static final long MOST_SILENT_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long USUAL_NS = TimeUnit.MILLISECONDS.toNanos(100);

  /** The last answer's share of the average is one in so many. */
  private static final int LAST_COUNTS = 8;

  private final AtomicLong averageNs = new AtomicLong();

  void add(long ns) {
    averageNs.getAndUpdate(average -> average + (ns - average) / LAST_COUNTS);
  }

  /** After so long without an answer a peer is silent. */
  long silentNs() {
    return Math.min(Math.max(USUAL_NS, 2 * averageNs.get()), MOST_SILENT_NS);
  }

  /**
   * The attempts at a time to peers that answer. Where many connect to each other at once, answers take long, and more
   * attempts would only make them take longer.
   */
  int attemptsAtOnce() {
    long fitting = MOST_AT_ONCE * USUAL_NS / Math.max(USUAL_NS, averageNs.get());
    return (int) Math.max(LEAST_AT_ONCE, fitting);
  }
}
