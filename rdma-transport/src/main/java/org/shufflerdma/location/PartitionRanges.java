/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

/**
 * Exact byte ranges and checksums of the partitions {@code [start, end)} of one map output, as its
 * descriptor states them. Immutable, safe for every thread.
 */
public final class PartitionRanges {
  private final int startPartition;
  private final long[] offsets;
  private final int[] checksums;

  PartitionRanges(int startPartition, long[] offsets, int[] checksums) {
    this.startPartition = startPartition;
    this.offsets = offsets;
    this.checksums = checksums;
  }

  public int startPartition() {
    return startPartition;
  }

  /** Exclusive. */
  public int endPartition() {
    return startPartition + checksums.length;
  }

  public boolean covers(int start, int end) {
    return startPartition <= start && end <= endPartition();
  }

  /** Returns the bytes from the start of the map output's data to the start of {@code partition}. */
  public long offset(int partition) {
    return offsets[partition - startPartition];
  }

  public long lengthBytes(int partition) {
    return lengthBytes(partition, partition + 1);
  }

  /** Returns the length of the contiguous range {@code [start, end)}, in bytes. */
  public long lengthBytes(int start, int end) {
    return offsets[end - startPartition] - offsets[start - startPartition];
  }

  public int checksum(int partition) {
    return checksums[partition - startPartition];
  }
}
