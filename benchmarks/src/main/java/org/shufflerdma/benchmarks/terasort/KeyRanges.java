/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.Partitioner;

/**
 * Splits the key space at cut points taken from a sample, so that partition i holds only keys below
 * those of partition i + 1. A key equal to a cut point goes to the partition above it.
 */
final class KeyRanges extends Partitioner {
  private static final long serialVersionUID = 1L;

  private final byte[][] cutPoints;

  private KeyRanges(byte[][] cutPoints) {
    this.cutPoints = cutPoints;
  }

  static KeyRanges ofSample(List<byte[]> sample, int partitions) {
    if (sample.isEmpty()) {
      throw new IllegalArgumentException("the sample is empty: there is nothing to sort");
    }
    byte[][] sorted = sample.toArray(byte[][]::new);
    Arrays.sort(sorted, KeyOrder.INSTANCE);
    byte[][] cutPoints = new byte[partitions - 1][];
    for (int i = 0; i < cutPoints.length; i++) {
      cutPoints[i] = sorted[(int) ((i + 1L) * sorted.length / partitions)];
    }
    return new KeyRanges(cutPoints);
  }

  @Override
  public int numPartitions() {
    return cutPoints.length + 1;
  }

  @Override
  public int getPartition(Object key) {
    int low = 0;
    int high = cutPoints.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (Arrays.compareUnsigned((byte[]) key, cutPoints[middle]) < 0) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
}
