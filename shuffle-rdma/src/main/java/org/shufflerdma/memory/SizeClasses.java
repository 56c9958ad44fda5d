/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

/**
 * Rounds lengths to the sizes that a {@link BufferPool} hands out: powers of two from 4 KiB up to a
 * slab, beyond that multiples of 2 MiB, each in a slab of its own.
 */
final class SizeClasses {
  static final int SMALLEST_BYTES = 4 << 10;
  private static final long HUGE_PAGE_BYTES = 2L << 20;
  private static final int SMALLEST_SHIFT = Integer.numberOfTrailingZeros(SMALLEST_BYTES);

  private final int slabBytes;

  SizeClasses(int slabBytes) {
    this.slabBytes = slabBytes;
  }

  int count() {
    return indexOf(slabBytes) + 1;
  }

  boolean isPooled(long lengthBytes) {
    return lengthBytes <= slabBytes;
  }

  int indexOf(long lengthBytes) {
    long rounded = bufferBytes(lengthBytes);
    return Long.numberOfTrailingZeros(rounded) - SMALLEST_SHIFT;
  }

  long bufferBytes(long lengthBytes) {
    if (!isPooled(lengthBytes)) {
      return Math.addExact(lengthBytes, HUGE_PAGE_BYTES - 1) & -HUGE_PAGE_BYTES;
    }
    return Math.max(SMALLEST_BYTES, Long.highestOneBit(lengthBytes - 1) << 1);
  }
}
