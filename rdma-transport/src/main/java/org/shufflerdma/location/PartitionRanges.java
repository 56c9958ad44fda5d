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

  public int endPartition() {
    return startPartition + checksums.length;
  }

  public boolean contains(PartitionRanges other) {
    return startPartition <= other.startPartition && other.endPartition() <= endPartition();
  }

  /**
   * Returns the bytes from the start of the map output's data to the start of {@code partition}, which
   * may be the end of the range.
   */
  public long offset(int partition) {
    return offsets[partition - startPartition];
  }

  public long lengthBytes(int partition) {
    return offset(partition + 1) - offset(partition);
  }

  public int checksum(int partition) {
    return checksums[partition - startPartition];
  }
}
