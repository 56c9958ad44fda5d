/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.apache.spark.util.SizeEstimator;
import org.jspecify.annotations.Nullable;

/**
 * Estimates how much memory records take, from two sources that do not fail together: Spark's {@link
 * SizeEstimator} of a random sample, and the serialized bytes from which the records were made, which are
 * known for all of them. Records take at least the latter, and what the sample says of each. A record with
 * many more serialized bytes than the others is measured by itself, as no sample has to meet it.
 *
 * <p>What all records refer to counts as nothing: a record takes what a sample takes more with it than
 * without it. Not thread-safe.
 */
final class RecordSizes {
  private static final int SMALLEST_WINDOW = 32;
  private static final int LARGEST_WINDOW = 1024;
  private static final int SAMPLE = 16;

  /** Deserializers read some KiB ahead, so fewer bytes cannot be told to be those of one record. */
  private static final int LARGE_BYTES = 16 << 10;

  /** A large record has this many times the serialized bytes of the mean. */
  private static final int LARGE_FACTOR = 4;

  private final SplittableRandom random = new SplittableRandom();

  /** What large records take. */
  private long largeBytes;

  /** The serialized bytes of all others, and what the samples say that those before the window take. */
  private long serializedBytes;

  private long sampledBytes;

  /** The records since the last sample, and their number at which the next one is measured. */
  private int windowRecords;

  private int window = SMALLEST_WINDOW;

  /** Keys and values of records of the window, one of each sixteenth of it, and the next to be taken. */
  private final @Nullable Object[] sample = new Object[2 * SAMPLE];

  private int sampled;
  private int nextSampled;

  private long bytesOfOne;
  private long largestBytesOfOne;

  /** With which the next large record is compared. */
  private @Nullable Object largeKey;

  private @Nullable Object largeValue;

  /** Since the first record. */
  private long allRecords;

  private long allBytes;

  RecordSizes() {
    startWindow();
  }

  /**
   * A record has arrived.
   *
   * @param bytesRead the bytes that were read for it; 0 if that is not known
   */
  void add(@Nullable Object key, @Nullable Object value, long bytesRead) {
    if (bytesRead >= LARGE_BYTES && bytesRead * allRecords > LARGE_FACTOR * allBytes) {
      addLarge(key, value, bytesRead);
    } else {
      serializedBytes += bytesRead;
      addToWindow(key, value);
    }
    allRecords++;
    allBytes += bytesRead;
  }

  private void addToWindow(@Nullable Object key, @Nullable Object value) {
    if (windowRecords == nextSampled) {
      sample[2 * sampled] = key;
      sample[2 * sampled + 1] = value;
      sampled++;
      chooseNext();
    }
    windowRecords++;
    if (windowRecords == window) {
      bytesOfOne = measureSample();
      largestBytesOfOne = Math.max(largestBytesOfOne, bytesOfOne);
      sampledBytes += bytesOfOne * windowRecords;
      window = (int) Math.max(window, Math.min(LARGEST_WINDOW, allRecords / 8));
      startWindow();
    }
  }

  private void addLarge(@Nullable Object key, @Nullable Object value, long bytesRead) {
    long without = SizeEstimator.estimate(new Object[] {largeKey, largeValue, null, null});
    long with = SizeEstimator.estimate(new Object[] {largeKey, largeValue, key, value});
    long bytes = Math.max(with - without, bytesRead);
    largestBytesOfOne = Math.max(largestBytesOfOne, bytes);
    largeBytes += bytes;
    largeKey = key;
    largeValue = value;
  }

  private void startWindow() {
    windowRecords = 0;
    sampled = 0;
    chooseNext();
  }

  /** At random, so that no order of the records can keep some of them from being taken. */
  private void chooseNext() {
    int width = window / SAMPLE;
    nextSampled = sampled == SAMPLE ? window : sampled * width + random.nextInt(width);
  }

  /** Returns the estimate of all records that have arrived since the last call of {@link #startOver}. */
  long bytes() {
    return largeBytes + Math.max(serializedBytes, sampledBytes + bytesOfOne * windowRecords);
  }

  /** Returns the largest estimate of a record so far; 0 if there was none. */
  long largestBytesOfOne() {
    return largestBytesOfOne;
  }

  /** The records have left the memory. */
  void startOver() {
    largeBytes = 0;
    serializedBytes = 0;
    sampledBytes = 0;
    largeKey = null;
    largeValue = null;
    Arrays.fill(sample, null);
    startWindow();
  }

  /** What each half of the sample takes more beside the other one, with two references in an array a record. */
  private long measureSample() {
    long halves = SizeEstimator.estimate(half(0)) + SizeEstimator.estimate(half(1));
    return Math.max(0, 2 * SizeEstimator.estimate(sample) - halves) / SAMPLE;
  }

  /** Every other record, in an array of half the length. */
  private Object[] half(int first) {
    Object[] half = new Object[SAMPLE];
    for (int i = 0; i < SAMPLE / 2; i++) {
      half[2 * i] = sample[4 * i + 2 * first];
      half[2 * i + 1] = sample[4 * i + 2 * first + 1];
    }
    return half;
  }
}
