/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.concurrent.atomic.LongAdder;

/** Counts of one transport since it was opened. Any thread adds, any thread reads. */
public final class TransportStats {
  /** Calls of the native library to post lists, to poll, and to be woken by completions. */
  public final LongAdder nativeCalls = new LongAdder();

  public final LongAdder readsPosted = new LongAdder();
  public final LongAdder readsSignalled = new LongAdder();
  public final LongAdder readBytesCompleted = new LongAdder();

  /** READs that failed; those that were flushed are not counted. */
  public final LongAdder readErrors = new LongAdder();

  public final LongAdder connectionsOpened = new LongAdder();
  public final LongAdder connectionsAccepted = new LongAdder();
  public final LongAdder connectionsRejected = new LongAdder();

  /** Attempts to connect that failed. */
  public final LongAdder connectFailures = new LongAdder();

  public final LongAdder connectionsFailed = new LongAdder();
  public final LongAdder connectionsEvicted = new LongAdder();
  public final LongAdder reconnects = new LongAdder();
  public final LongAdder breakersOpened = new LongAdder();
  public final LongAdder staleCompletions = new LongAdder();
  public final LongAdder queuePairsNotDestroyed = new LongAdder();
}
