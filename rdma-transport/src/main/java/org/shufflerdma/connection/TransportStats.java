/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.shufflerdma.verbs.WcStatus;

/** Counts of one transport since it was opened. Any thread adds, any thread reads. */
public final class TransportStats {
  public final LongAdder readsPosted = new LongAdder();
  public final LongAdder readsSignalled = new LongAdder();
  public final LongAdder readBytesCompleted = new LongAdder();
  public final LongAdder connectionsOpened = new LongAdder();
  public final LongAdder connectionsAccepted = new LongAdder();
  public final LongAdder connectionsRejected = new LongAdder();
  public final LongAdder connectionsFailed = new LongAdder();
  public final LongAdder connectionsEvicted = new LongAdder();
  public final LongAdder reconnects = new LongAdder();
  public final LongAdder breakersOpened = new LongAdder();
  public final LongAdder staleCompletions = new LongAdder();
  public final LongAdder queuePairsNotDestroyed = new LongAdder();
  private final Map<ConnectFailure, LongAdder> connectFailures = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> readErrors = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> asyncEvents = new ConcurrentHashMap<>();

  void countConnectFailure(ConnectFailure failure) {
    connectFailures.computeIfAbsent(failure, key -> new LongAdder()).increment();
  }

  void countReadError(int status) {
    readErrors.computeIfAbsent(WcStatus.name(status), key -> new LongAdder()).increment();
  }

  void countAsyncEvent(String type) {
    asyncEvents.computeIfAbsent(type, key -> new LongAdder()).increment();
  }

  public long connectFailures(ConnectFailure failure) {
    LongAdder count = connectFailures.get(failure);
    return count == null ? 0 : count.sum();
  }

  /** Failed READs by name of their completion status; flushed ones are not counted. */
  public Map<String, LongAdder> readErrors() {
    return Map.copyOf(readErrors);
  }

  public Map<String, LongAdder> asyncEvents() {
    return Map.copyOf(asyncEvents);
  }
}
