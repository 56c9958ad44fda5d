/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import org.apache.spark.util.SizeEstimator;

/**
 * Estimates how much memory records take, with Spark's {@link SizeEstimator} of samples. What all records
 * refer to counts as nothing: a record takes what a sample takes more with it than without it. Not
 * thread-safe.
 */
final class RecordSizes {
  /** Spark's sorter, too, asks for memory with each 32nd record at most. */
  private static final int SMALLEST_GAP = 32;

  private static final int LARGEST_GAP = 1024;
  private static final int SAMPLE = 16;

  private long bytesOfOne;
  private long largestBytesOfOne;
  private int gap = SMALLEST_GAP;

  /** The records of the chunk that are known, and their number at which others will be measured. */
  private int known;

  private int nextSample = SMALLEST_GAP;

  /** Begins with the positions of another chunk. */
  void startChunk() {
    known = 0;
    nextSample = gap;
  }

  /** Begins with the first chunk after a spill. */
  void startOver() {
    gap = SMALLEST_GAP;
    startChunk();
  }

  /**
   * Returns by how much the estimate of all records changes with the one that was put into a chunk last.
   *
   * @param count the records of the chunk
   */
  long change(Object[] keys, Object[] values, int count) {
    if (count < nextSample) {
      return bytesOfOne;
    }
    long before = bytesOfOne;
    bytesOfOne = measure(keys, values, count);
    largestBytesOfOne = Math.max(largestBytesOfOne, bytesOfOne);
    // The records since the last sample were estimated by that one.
    long change = bytesOfOne + (bytesOfOne - before) * (count - known - 1);
    known = count;
    gap = Math.max(gap, Math.min(LARGEST_GAP, count / 8));
    nextSample = count + gap;
    return change;
  }

  /** Returns the largest estimate of a record so far; 0 if none was measured. */
  long largestBytesOfOne() {
    return largestBytesOfOne;
  }

  private long measure(Object[] keys, Object[] values, int count) {
    Object[] sample = new Object[2 * SAMPLE];
    for (int i = 0; i < SAMPLE; i++) {
      int position = count - 1 - i * (count - known) / SAMPLE;
      sample[2 * i] = keys[position];
      sample[2 * i + 1] = values[position];
    }
    Object[] half = new Object[SAMPLE];
    for (int i = 0; i < SAMPLE / 2; i++) {
      half[2 * i] = sample[4 * i];
      half[2 * i + 1] = sample[4 * i + 1];
    }
    // With two references in an array for each record, as the sorter holds them, too.
    return (SizeEstimator.estimate(sample) - SizeEstimator.estimate(half)) / (SAMPLE / 2);
  }
}
