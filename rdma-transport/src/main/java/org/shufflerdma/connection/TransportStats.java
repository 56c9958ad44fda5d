/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.concurrent.atomic.LongAdder;
import org.shufflerdma.metrics.LatencyHistogram;

/** Counts and times of one transport since it was opened. Any thread adds, any thread reads. */
public final class TransportStats {
  private static final long SHORT_BYTES = 64 << 10;
  private static final long MEDIUM_BYTES = 1 << 20;

  /** Calls of the native library to post lists, to poll, and to be woken by completions. */
  public final LongAdder nativeCalls = new LongAdder();

  public final LongAdder readsPosted = new LongAdder();
  public final LongAdder readsSignalled = new LongAdder();

  /** READs that failed; those that were flushed are not counted. */
  public final LongAdder readErrors = new LongAdder();

  public final LongAdder connectionsOpened = new LongAdder();
  public final LongAdder connectionsAccepted = new LongAdder();
  public final LongAdder connectionsRejected = new LongAdder();

  /** Queue pairs of attempts to connect, of those that failed later as well. */
  public final LongAdder queuePairsCreated = new LongAdder();

  /** Attempts to connect that failed. */
  public final LongAdder connectFailures = new LongAdder();

  public final LongAdder connectionsFailed = new LongAdder();
  public final LongAdder connectionsEvicted = new LongAdder();
  public final LongAdder reconnects = new LongAdder();
  public final LongAdder breakersOpened = new LongAdder();
  public final LongAdder staleCompletions = new LongAdder();
  public final LongAdder queuePairsNotDestroyed = new LongAdder();

  /** Attempts to connect, from the place for a connection to the canary, or to their failure. */
  public final LatencyHistogram connectTimes = new LatencyHistogram();

  /** Waits for a connection that was not open, for a place and for attempts of other threads included. */
  public final LatencyHistogram connectionWaits = new LatencyHistogram();

  /** Waits of posts for room in a send queue, and for other posts to the same queue. */
  public final LatencyHistogram sendQueueWaits = new LatencyHistogram();

  /** Lists of READs of at most 64 KiB that succeeded, from the post to the completion as it is taken. */
  public final LatencyHistogram shortReadTimes = new LatencyHistogram();

  /** The same of at most 1 MiB. */
  public final LatencyHistogram mediumReadTimes = new LatencyHistogram();

  /** The same of more than that. */
  public final LatencyHistogram longReadTimes = new LatencyHistogram();

  LatencyHistogram readTimes(long lengthBytes) {
    if (lengthBytes <= SHORT_BYTES) {
      return shortReadTimes;
    }
    return lengthBytes <= MEDIUM_BYTES ? mediumReadTimes : longReadTimes;
  }
}
