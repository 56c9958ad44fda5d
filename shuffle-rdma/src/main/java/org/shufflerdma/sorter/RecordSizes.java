/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import org.apache.spark.util.SizeEstimator;

/**
 * Estimates how much memory records take, by Spark's {@link SizeEstimator} of samples. The records of a
 * sample are measured together, so that what they share counts once. Not thread-safe.
 */
final class RecordSizes {
  private static final int LARGEST_GAP = 4096;
  private static final int LARGEST_SAMPLE = 32;

  private long bytesOfOne;
  private int gap = 1;

  /** The records of the chunk that are known, and their number at which others will be measured. */
  private int known;

  private int nextSample = 1;

  /** Begins with the positions of another chunk. */
  void startChunk() {
    known = 0;
    nextSample = gap;
  }

  /**
   * Returns the estimated bytes of the record that was put into a chunk last.
   *
   * @param count the records of the chunk
   */
  long bytesOfLast(Object[] keys, Object[] values, int count) {
    if (count >= nextSample) {
      measure(keys, values, count);
    }
    return bytesOfOne;
  }

  /** Returns the estimated bytes of a record, at least 1. */
  long bytesOfOne() {
    return Math.max(1, bytesOfOne);
  }

  private void measure(Object[] keys, Object[] values, int count) {
    int size = Math.min(count - known, LARGEST_SAMPLE);
    Object[] sample = new Object[2 * size];
    for (int i = 0; i < size; i++) {
      int position = count - 1 - i * (count - known) / size;
      sample[2 * i] = keys[position];
      sample[2 * i + 1] = values[position];
    }
    // With the two references in an array, as the sorter holds them, too.
    bytesOfOne = SizeEstimator.estimate(sample) / size;
    known = count;
    gap = Math.max(gap, Math.min(LARGEST_GAP, count / 2));
    nextSample = count + gap;
  }
}
