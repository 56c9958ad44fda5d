/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.util.Arrays;
import java.util.Map;

/** How long each of many operations of one size took, and all together. One thread uses it. */
final class Latencies {
  private static final int MOST = 1 << 18;

  private final long[] ns = new long[MOST];
  private final int bytes;
  private int count;
  private long elapsedNs;

  /**
   * @param bytes of each operation
   */
  Latencies(int bytes) {
    this.bytes = bytes;
  }

  /** Keeps the time of one operation. There is no room for more if {@link #isFull}. */
  void add(long operationNs) {
    ns[count++] = operationNs;
  }

  /** Returns whether the next operations might find no room, {@code depth} being in progress. */
  boolean isFull(int depth) {
    return count + 2 * depth > MOST;
  }

  /**
   * Ends the measurement.
   *
   * @param totalNs from the first operation's start to the last one's end
   */
  void end(long totalNs) {
    elapsedNs = totalNs;
    Arrays.sort(ns, 0, count);
  }

  /** Returns the time in microseconds that this percentage of the operations did not exceed. */
  double us(int percent) {
    if (count == 0) {
      throw new IllegalStateException("nothing was measured");
    }
    int rank = (int) Math.ceil(count * (percent / 100.0));
    return ns[Math.max(0, rank - 1)] / 1e3;
  }

  double mbPerS() {
    return (double) bytes * count / elapsedNs * 1e9 / 1e6;
  }

  Map<String, Object> json() {
    return Json.object(
        "p50_us", us(50), "p99_us", us(99), "mb_per_s", mbPerS(), "operations", count);
  }
}
