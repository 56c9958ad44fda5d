/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * What the staging servers of one process may register together. A server that finds no room comes before
 * those that hold more than it does, and one of those gives way to it. Any thread may call.
 */
public final class StagingBudget {
  private final long maxBytes;
  private final Map<Object, Long> takenBytes = new HashMap<>(); // guarded by this, as are the next
  private final Set<Object> waiting = new HashSet<>();
  private long sumBytes;

  public StagingBudget(long maxBytes) {
    this.maxBytes = maxBytes;
  }

  /** Takes room for a server. If there is none, the server waits for it until it calls again, or leaves. */
  synchronized boolean tryTake(Object server, long bytes) {
    boolean isAfterOthers =
        waiting.stream().anyMatch(other -> other != server && takenBy(other) < takenBy(server));
    if (isAfterOthers || sumBytes + bytes > maxBytes) {
      waiting.add(server);
      return false;
    }
    waiting.remove(server);
    takenBytes.merge(server, bytes, Long::sum);
    sumBytes += bytes;
    return true;
  }

  /** Whether this server is to give back so many bytes for one that waits and would hold no more than it then. */
  synchronized boolean isToGiveWay(Object server, long bytes) {
    return waiting.stream()
        .anyMatch(other -> other != server && takenBy(other) + bytes <= takenBy(server) - bytes);
  }

  private long takenBy(Object server) {
    return takenBytes.getOrDefault(server, 0L);
  }

  synchronized void giveBack(Object server, long bytes) {
    takenBytes.compute(server, (key, taken) -> {
      long left = (taken == null ? 0 : taken) - bytes;
      return left == 0 ? null : left;
    });
    sumBytes -= bytes;
  }

  /** The server waits for nothing any more. */
  synchronized void doNotWait(Object server) {
    waiting.remove(server);
  }

  /** Registered by this server. */
  synchronized long takenBytes(Object server) {
    return takenBy(server);
  }

  public synchronized long takenBytes() {
    return sumBytes;
  }

  public long maxBytes() {
    return maxBytes;
  }
}
