/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

/**
 * Limits of a {@link BufferPool}.
 *
 * @param budgetBytes most bytes registered at any time
 * @param slabBytes the most that is registered at a time for buffers that share a registration; a power of two
 * @param hugePages whether the kernel is asked to back slabs with huge pages
 * @param relaxedOrdering whether the device may write to slabs in any order before it completes
 * @param idleMs for how long a slab is kept that nobody uses
 * @param memory where slabs come from
 */
public record PoolSettings(
    long budgetBytes,
    int slabBytes,
    boolean hugePages,
    boolean relaxedOrdering,
    int idleMs,
    SlabMemory memory) {
  private static final int DEFAULT_IDLE_MS = 60_000;
  private static final int DEFAULT_SLAB_BYTES = 16 << 20;
  private static final int SLABS_PER_BUDGET = 16;

  public PoolSettings {
    if (Integer.bitCount(slabBytes) != 1 || slabBytes < SizeClasses.SMALLEST_BYTES) {
      throw new IllegalArgumentException(
          "slabBytes=" + slabBytes + ": a power of two, at least " + SizeClasses.SMALLEST_BYTES);
    }
    if (budgetBytes < slabBytes) {
      throw new IllegalArgumentException(
          "budgetBytes=" + budgetBytes + ": at least one slab of " + slabBytes);
    }
  }

  public PoolSettings(long budgetBytes, int slabBytes, boolean hugePages, boolean relaxedOrdering) {
    this(
        budgetBytes, slabBytes, hugePages, relaxedOrdering, DEFAULT_IDLE_MS, SlabMemory.OF_PROCESS);
  }

  public static PoolSettings ofBudget(long budgetBytes) {
    long share = Long.highestOneBit(budgetBytes / SLABS_PER_BUDGET);
    int slabBytes = (int) Math.min(DEFAULT_SLAB_BYTES, Math.max(SizeClasses.SMALLEST_BYTES, share));
    return new PoolSettings(budgetBytes, slabBytes, true, true);
  }
}
