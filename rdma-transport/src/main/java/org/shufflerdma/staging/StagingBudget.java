/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What the staging servers of one process, and others who register memory beside them, may register together. Whoever finds no room comes
 * before those that hold more, and one of those gives way to it. Any thread may call.
 */
public final class StagingBudget {
  /** How long who waits keeps its place without asking: longer than a turn, as a job asks only while it fetches. */
  private static final long PLACE_NS = 2_000_000_000L;

  private static final class Wait {
    final long sinceNs = System.nanoTime();
    long askedNs;
  }

  private final long maxBytes;
  private final Map<Object, Long> takenBytes = new HashMap<>(); // guarded by this, as are the next

  /** In the order in which they began. */
  private final Map<Object, Wait> waiting = new LinkedHashMap<>();

  private long sumBytes;

  public StagingBudget(long maxBytes) {
    this.maxBytes = maxBytes;
  }

  /** Takes room for a server. If there is none, the server has its place in the line as long as it calls again within two seconds. */
  public synchronized boolean tryTake(Object server, long bytes) {
    forgetThoseThatAskNoMore();
    if (comesAfterOthers(server) || sumBytes + bytes > maxBytes) {
      waiting.computeIfAbsent(server, key -> new Wait()).askedNs = System.nanoTime();
      return false;
    }
    waiting.remove(server);
    takenBytes.merge(server, bytes, Long::sum);
    sumBytes += bytes;
    return true;
  }

  /** Else the others would wait for one that needs nothing any more. */
  private void forgetThoseThatAskNoMore() {
    long now = System.nanoTime();
    waiting.values().removeIf(wait -> now - wait.askedNs > PLACE_NS);
  }

  /** Those that hold less come first, and of those that hold the same the one that has waited for longest. */
  private boolean comesAfterOthers(Object server) {
    boolean isBefore = true;
    for (Object other : waiting.keySet()) {
      if (other == server) {
        isBefore = false;
      } else if (takenBy(other) < takenBy(server)
          || (isBefore && takenBy(other) == takenBy(server))) {
        return true;
      }
    }
    return false;
  }

  /**
   * Whether this server is to give back so many bytes: for one that waits and would hold no more than it then,
   * or for one that has had nothing for a turn.
   */
  public synchronized boolean isToGiveWay(Object server, long bytes, long turnNs) {
    forgetThoseThatAskNoMore();
    long now = System.nanoTime();
    return takenBy(server) > 0
        && waiting.entrySet().stream()
            .filter(other -> other.getKey() != server)
            .anyMatch(other -> takenBy(other.getKey()) + bytes <= takenBy(server) - bytes
                || (takenBy(other.getKey()) == 0 && now - other.getValue().sinceNs > turnNs));
  }

  /** How many bytes too many there would be with so many more; negative if there is room for yet more. */
  public synchronized long excessWith(long bytes) {
    return sumBytes + bytes - maxBytes;
  }

  private long takenBy(Object server) {
    return takenBytes.getOrDefault(server, 0L);
  }

  public synchronized void giveBack(Object server, long bytes) {
    takenBytes.compute(server, (key, taken) -> {
      long left = (taken == null ? 0 : taken) - bytes;
      return left == 0 ? null : left;
    });
    sumBytes -= bytes;
  }

  /** Whether somebody waits for room. */
  public synchronized boolean isWaitedFor() {
    forgetThoseThatAskNoMore();
    return !waiting.isEmpty();
  }

  /** The server waits for nothing any more. */
  public synchronized void doNotWait(Object server) {
    waiting.remove(server);
  }

  /** Registered by this server. */
  public synchronized long takenBytes(Object server) {
    return takenBy(server);
  }

  public synchronized long takenBytes() {
    return sumBytes;
  }

  public long maxBytes() {
    return maxBytes;
  }
}
