/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * How long something took, each time since the start: the distribution in logarithmic buckets, the exact
 * sum and the exact maximum. Any thread may record and read, without locks. What is read while others
 * record may have some of their records in one figure and not in another.
 *
 * <p>An octave, from one power of two to the next, has {@value #BUCKETS_OF_AN_OCTAVE} buckets of one width:
 *
 * <pre>
 *   ns     0 … 7   8 … 15   16-17 … 30-31   32-35 … 60-63   …   from 2^42 - 2^38 on
 *   bucket 0 … 7   8 … 15      16 … 23         24 … 31      …   319
 * </pre>
 */
public final class LatencyHistogram {
  private static final int OCTAVE_SHIFT = 3;
  private static final int BUCKETS_OF_AN_OCTAVE = 1 << OCTAVE_SHIFT;

  /** The last bucket begins at more than an hour, which no deadline of the plugin comes near. */
  private static final long LAST_NS = (1L << 42) - 1;

  private final AtomicLongArray buckets = new AtomicLongArray(bucketOf(LAST_NS) + 1);
  private final LongAdder totalNs = new LongAdder();
  private final AtomicLong maxNs = new AtomicLong();

  /** Records one time in nanoseconds. A negative one counts as 0. */
  public void record(long ns) {
    record(ns, 1);
  }

  /**
   * Records a time that stands for several, of which it is a sample.
   *
   * @param ns in nanoseconds; a negative one counts as 0
   * @param times for how many it stands, itself included
   */
  public void record(long ns, int times) {
    long timeNs = Math.max(0, ns);
    buckets.getAndAdd(bucketOf(timeNs), times);
    totalNs.add(timeNs * times);
    if (timeNs > maxNs.get()) {
      maxNs.accumulateAndGet(timeNs, Math::max);
    }
  }

  /** Records the time since that point in {@link System#nanoTime}, and returns it in nanoseconds. */
  public long recordSince(long startNs) {
    long ns = System.nanoTime() - startNs;
    record(ns);
    return ns;
  }

  private static int bucketOf(long ns) {
    long limited = Math.min(ns, LAST_NS);
    if (limited < BUCKETS_OF_AN_OCTAVE) {
      return (int) limited;
    }
    int widthShift = Long.SIZE - 1 - Long.numberOfLeadingZeros(limited) - OCTAVE_SHIFT;
    return (widthShift << OCTAVE_SHIFT) + (int) (limited >>> widthShift);
  }

  /** The longest time of a bucket, in nanoseconds. */
  private static long endOf(int bucket) {
    if (bucket < BUCKETS_OF_AN_OCTAVE) {
      return bucket;
    }
    int widthShift = (bucket >>> OCTAVE_SHIFT) - 1;
    long first = (long) (bucket - (widthShift << OCTAVE_SHIFT)) << widthShift;
    return first + (1L << widthShift) - 1;
  }

  /** Returns how many times have been recorded. */
  public long count() {
    long count = 0;
    for (int i = 0; i < buckets.length(); i++) {
      count += buckets.get(i);
    }
    return count;
  }

  /** Returns the sum of all times, in nanoseconds. */
  public long totalNs() {
    return totalNs.sum();
  }

  /** Returns the longest time, in nanoseconds; 0 if there is none. */
  public long maxNs() {
    return maxNs.get();
  }

  /**
   * Returns the time in nanoseconds that a part of all times did not exceed; 0 if there is none. It is at
   * most one eighth too long, for times of up to an hour, and never too short.
   *
   * @param part more than 0, and 1 at most: 0.99 gives the 99th percentile
   */
  public long quantileNs(double part) {
    if (!(part > 0 && part <= 1)) {
      throw new IllegalArgumentException("the part " + part + " is not between 0 and 1");
    }
    long rank = (long) Math.ceil(part * count());
    long seen = 0;
    int last = buckets.length() - 1;
    for (int i = 0; i < last && rank > 0; i++) {
      seen += buckets.get(i);
      if (seen >= rank) {
        return Math.min(endOf(i), maxNs());
      }
    }
    return maxNs();
  }

  /** Returns for example {@code 12 times, total 3.400 ms, p50 250 us, p99 812 us, max 812 us}. */
  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "%d times, total %.3f ms, p50 %d us, p99 %d us, max %d us",
        count(),
        totalNs() / 1e6,
        TimeUnit.NANOSECONDS.toMicros(quantileNs(0.5)),
        TimeUnit.NANOSECONDS.toMicros(quantileNs(0.99)),
        TimeUnit.NANOSECONDS.toMicros(maxNs()));
  }
}
