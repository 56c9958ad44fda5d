/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/**
 * The open fetches of one task. A task that joins many inputs has one for each, and takes blocks of one at
 * a time: whatever the others have read ahead they keep until it turns to them again. A fetch that finds
 * no memory therefore must not wait for the others. They give back what they hold ahead, and from then on
 * none of them reads ahead, nor reads more than its share at a time. Any thread may call.
 */
public final class TaskFetches {
  /** What the other fetches of the task did for one that lacks something. */
  enum Room {
    /** They hold nothing: it is for other tasks to give back some. */
    NOTHING_HELD,
    /** They have given back some, which comes as soon as READs under way have ended. */
    GIVEN_BACK,
    /** They hold only what the task consumes, and keep it while the task waits. */
    KEPT
  }

  private final Set<DirectFetch> open = ConcurrentHashMap.newKeySet();
  private volatile boolean memoryIsScarce;

  void opened(DirectFetch fetch) {
    open.add(fetch);
  }

  void closed(DirectFetch fetch) {
    open.remove(fetch);
  }

  /** Whether a fetch may hold more than what the task consumes of it. */
  boolean mayReadAhead() {
    return !memoryIsScarce || open.size() == 1;
  }

  /** How many of {@code bytes} a fetch may read at a time, unless one block alone is larger. */
  long shareOf(long bytes) {
    return mayReadAhead() ? Long.MAX_VALUE : bytes / 2 / Math.max(1, open.size());
  }

  /**
   * Has the other fetches give back what they hold ahead.
   *
   * @param isLacked which of their lists hold what is lacking
   */
  Room makeRoomFor(DirectFetch needy, Predicate<ReadSlot> isLacked) {
    Room room = Room.NOTHING_HELD;
    for (DirectFetch other : open) {
      if (other != needy) {
        Room of = other.giveWay(isLacked);
        room = room == Room.GIVEN_BACK || of == Room.NOTHING_HELD ? room : of;
      }
    }
    memoryIsScarce |= room != Room.NOTHING_HELD;
    return room;
  }
}
