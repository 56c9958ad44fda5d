/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** First-fit account of the free bytes of one range; neighbours merge when they come back. */
public final class FreeRanges {
  private final TreeMap<Long, Long> lengthByOffset = new TreeMap<>();
  private final long totalBytes;

  public FreeRanges(long totalBytes) {
    this.totalBytes = totalBytes;
    lengthByOffset.put(0L, totalBytes);
  }

  /** The offset of {@code length} bytes that are now taken, or -1 if no gap is wide enough. */
  public long take(long length) {
    long offset = firstGap(length);
    if (offset >= 0) {
      long rest = Objects.requireNonNull(lengthByOffset.remove(offset)) - length;
      if (rest > 0) {
        lengthByOffset.put(offset + length, rest);
      }
    }
    return offset;
  }

  private long firstGap(long length) {
    for (Map.Entry<Long, Long> gap : lengthByOffset.entrySet()) {
      if (gap.getValue() >= length) {
        return gap.getKey();
      }
    }
    return -1;
  }

  public void giveBack(long offset, long length) {
    Map.Entry<Long, Long> before = lengthByOffset.floorEntry(offset);
    Map.Entry<Long, Long> after = lengthByOffset.ceilingEntry(offset);
    boolean overlaps = (before != null && before.getKey() + before.getValue() > offset)
        || (after != null && offset + length > after.getKey());
    if (overlaps || offset + length > totalBytes) {
      throw new IllegalStateException("bytes " + offset + "+" + length + " were free already");
    }
    long start = offset;
    long end = offset + length;
    if (before != null && before.getKey() + before.getValue() == offset) {
      start = before.getKey();
    }
    if (after != null && after.getKey() == end) {
      end += after.getValue();
      lengthByOffset.remove(after.getKey());
    }
    lengthByOffset.put(start, end - start);
  }

  public boolean isAllFree() {
    Long first = lengthByOffset.get(0L);
    return first != null && first == totalBytes;
  }
}
