/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.read;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import org.shufflerdma.metrics.LatencyHistogram;

/** The counts and times of one fetcher. Any thread may add and read. */
public final class FetchStats {
  /** For a shorter block two readings of the clock are too dear. */
  private static final int ALWAYS_TIMED_BYTES = 64 << 10;

  /** One in so many shorter blocks is timed; a power of two. */
  private static final int BLOCKS_OF_A_SAMPLE = 16;

  /** Descriptors of which entries were read; a descriptor of many partitions counts each time. */
  public final LongAdder descriptorsRead = new LongAdder();

  /** Headers that were read alone, because the lease of a descriptor was over. */
  public final LongAdder descriptorsRenewed = new LongAdder();

  public final LongAdder checksumMismatches = new LongAdder();
  public final LongAdder retries = new LongAdder();

  /** To compute the checksums of blocks, of which some stand for others. */
  public final LatencyHistogram checksumTimes = new LatencyHistogram();

  /** Blocks that were left to TCP after they had been tried, from the first attempt on. */
  public final LatencyHistogram fallbackTimes = new LatencyHistogram();

  /** Returns for how many blocks the time of this one's checksum is to count; 0 if it is not to be taken. */
  public static int blocksTimedBy(long lengthBytes) {
    if (lengthBytes >= ALWAYS_TIMED_BYTES) {
      return 1;
    }
    boolean isSample = (ThreadLocalRandom.current().nextInt() & (BLOCKS_OF_A_SAMPLE - 1)) == 0;
    return isSample ? BLOCKS_OF_A_SAMPLE : 0;
  }
}
