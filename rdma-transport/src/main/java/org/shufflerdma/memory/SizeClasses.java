/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

/**
 * Rounds lengths to the sizes that a {@link BufferPool} hands out: four sizes per doubling from 4
 * KiB up to a slab, so that no more than a fifth is lost; beyond that multiples of an eighth of a slab,
 * each in a slab of its own.
 *
 * <pre>
 *   index  0    1    2    3    4    5     6 ...
 *   KiB    4    5    6    7    8    10    12 ...
 * </pre>
 */
final class SizeClasses {
  static final int SMALLEST_BYTES = 4 << 10;
  private static final int SMALLEST_SHIFT = Integer.numberOfTrailingZeros(SMALLEST_BYTES);
  private static final int STEPS_SHIFT = 2;
  private static final int LARGE_STEP_SHIFT = 3;

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
    int shift = doublingOf(rounded);
    int step = (int) ((rounded - (1L << shift)) >> (shift - STEPS_SHIFT));
    return ((shift - SMALLEST_SHIFT) << STEPS_SHIFT) + step;
  }

  long bufferBytes(long lengthBytes) {
    if (!isPooled(lengthBytes)) {
      return roundUp(lengthBytes, Math.max(SMALLEST_BYTES, slabBytes >> LARGE_STEP_SHIFT));
    }
    long atLeast = Math.max(SMALLEST_BYTES, lengthBytes);
    return roundUp(atLeast, 1L << (doublingOf(atLeast) - STEPS_SHIFT));
  }

  private static int doublingOf(long bytes) {
    return Long.SIZE - 1 - Long.numberOfLeadingZeros(bytes);
  }

  private static long roundUp(long bytes, long powerOfTwo) {
    return Math.addExact(bytes, powerOfTwo - 1) & -powerOfTwo;
  }
}
