/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.descriptor;

import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Which partitions of shuffles the tasks of this executor have asked for, and from that how many entries of a descriptor
 * are worth reading around one. Tasks of a small cluster have neighbouring partitions of the same map outputs, and a
 * READ of 256 entries costs hardly more than one of a single entry. In a wide cluster, neighbours are read by other executors,
 * and the entries would be more bytes than the blocks. Any thread may call.
 */
public final class Neighbourhoods {
  /** The most partitions whose entries are read at a time; a power of two. */
  public static final int MOST = 256;

  /** At least one partition in so many must be likely to be asked for; a power of two. */
  public static final int LEAST_SHARE = 8;

  /** As many as an executor reads at a time, by far. */
  private static final int REMEMBERED_SHUFFLES = 64;

  private final Map<Integer, BitSet> askedByShuffle = new LinkedHashMap<>(16, 0.75f, true) {
    private static final long serialVersionUID = 1L;

    @Override
    protected boolean removeEldestEntry(Map.Entry<Integer, BitSet> eldest) {
      return size() > REMEMBERED_SHUFFLES;
    }
  }; // guarded by this

  /** A task begins to read the partitions {@code [start, end)}. */
  public synchronized void asked(int shuffleId, int start, int end) {
    askedByShuffle.computeIfAbsent(shuffleId, id -> new BitSet()).set(start, end);
  }

  /**
   * Returns how many partitions, a power of two, are to be read with this one, from a multiple of that number on.
   *
   * @param owners of the map outputs that the task reads: about as many executors share the partitions
   */
  public synchronized int widthAround(int shuffleId, int partition, int owners) {
    BitSet asked = askedByShuffle.get(shuffleId);
    if (owners <= LEAST_SHARE || asked == null) {
      return MOST;
    }
    int width = MOST;
    while (width > LEAST_SHARE && !isDense(asked, partition & -width, width)) {
      width /= 2;
    }
    return width;
  }

  /** Whether enough has been asked for there and just before. */
  private static boolean isDense(BitSet asked, int start, int width) {
    int lacking = width / LEAST_SHARE;
    int at = asked.nextSetBit(Math.max(0, start - width));
    while (lacking > 0 && at >= 0 && at < start + width) {
      lacking--;
      at = asked.nextSetBit(at + 1);
    }
    return lacking == 0;
  }

  public synchronized void forgetShuffle(int shuffleId) {
    askedByShuffle.remove(shuffleId);
  }
}
