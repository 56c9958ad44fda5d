/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Which list a completion belongs to. A slot is reused with another generation, so a late or
 * repeated completion of a finished list finds nothing. Thread safe.
 *
 * <pre>
 *   wr_id = | slot (24) | index in the list (8) | generation (32) |
 * </pre>
 */
final class PendingReads {
  private static final int SLOT_SHIFT = 40;
  private static final int INDEX_SHIFT = 32;
  private static final int MAX_SLOTS = 1 << 24;
  private static final int INITIAL_SLOTS = 64;

  private @Nullable PostedList[] lists = new PostedList[INITIAL_SLOTS];
  private int[] generations = new int[INITIAL_SLOTS];
  private int[] freeSlots = new int[INITIAL_SLOTS];
  private int freeCount;

  PendingReads() {
    free(0, INITIAL_SLOTS);
  }

  /** Gives the wr_id of the list's first READ; that of READ i is {@link #wrId}. */
  synchronized long add(PostedList list) {
    if (freeCount == 0) {
      grow();
    }
    int slot = freeSlots[--freeCount];
    lists[slot] = list;
    return ((long) slot << SLOT_SHIFT) | Integer.toUnsignedLong(generations[slot]);
  }

  static long wrId(long firstWrId, int index) {
    return firstWrId | ((long) index << INDEX_SHIFT);
  }

  static long firstWrId(long wrId) {
    return wrId & ~(0xFFL << INDEX_SHIFT);
  }

  static int index(long wrId) {
    return (int) (wrId >>> INDEX_SHIFT) & 0xFF;
  }

  /** Null if the list is not pending, or no longer. */
  synchronized @Nullable PostedList find(long wrId) {
    int slot = (int) (wrId >>> SLOT_SHIFT);
    return slot < lists.length && generations[slot] == (int) wrId ? lists[slot] : null;
  }

  /** True for the one caller that ends the list. */
  synchronized boolean remove(long wrId) {
    if (find(wrId) == null) {
      return false;
    }
    int slot = (int) (wrId >>> SLOT_SHIFT);
    lists[slot] = null;
    generations[slot]++;
    freeSlots[freeCount++] = slot;
    return true;
  }

  private void grow() {
    int before = lists.length;
    if (before == MAX_SLOTS) {
      throw new IllegalStateException("more than " + MAX_SLOTS + " lists of READs are pending");
    }
    lists = Arrays.copyOf(lists, before * 2);
    generations = Arrays.copyOf(generations, before * 2);
    freeSlots = Arrays.copyOf(freeSlots, before * 2);
    free(before, before * 2);
  }

  private void free(int fromSlot, int toSlot) {
    for (int slot = toSlot - 1; slot >= fromSlot; slot--) {
      freeSlots[freeCount++] = slot;
    }
  }
}
