/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.function.IntUnaryOperator;
import java.util.function.LongSupplier;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RecordSizesTest {
  private static final int RECORDS = 20_000;

  /** Estimates whose sum is tested where a single one may be far off, because its samples are few. */
  private static final int RUNS = 4;

  /** Two references for each record, and the header of an array. */
  private static final long OVERHEAD = 2 * 4 + 16;

  /** {@code -Dtest.seed=N} repeats the sizes of a run. */
  private final long seed = Long.getLong("test.seed", System.nanoTime());

  private final Random random = new Random(seed);

  private static long estimate(IntFunction<Object> value, IntUnaryOperator serializedBytes) {
    RecordSizes sizes = new RecordSizes();
    for (int i = 0; i < RECORDS; i++) {
      sizes.add("key", value.apply(i), serializedBytes.applyAsInt(i));
    }
    return sizes.bytes();
  }

  /** As if nobody knew the serialized bytes. */
  private static long estimateOfSamples(IntFunction<Object> value) {
    return estimate(value, i -> 0);
  }

  /** Of arrays of these lengths, which have 10 more bytes when they are serialized. */
  private static long estimateOfArrays(IntUnaryOperator length) {
    return estimate(i -> new byte[length.applyAsInt(i)], i -> length.applyAsInt(i) + 10);
  }

  private static long sumOfRuns(LongSupplier estimate) {
    return LongStream.generate(estimate).limit(RUNS).sum();
  }

  private static long bytesOfArrays(IntUnaryOperator length) {
    long bytes = 0;
    for (int i = 0; i < RECORDS; i++) {
      bytes += OVERHEAD + (length.applyAsInt(i) + 7L) / 8 * 8;
    }
    return bytes;
  }

  @Test
  void recordsOfOneSizeAreEstimatedWithinATenth() {
    long bytes = bytesOfArrays(i -> 1000);
    assertThat(estimateOfSamples(i -> new byte[1000])).isBetween(bytes, bytes + bytes / 10);
    assertThat(estimateOfArrays(i -> 1000)).isBetween(bytes, bytes + bytes / 10);
  }

  @Test
  void sizesThatVaryAreEstimatedWithinATenth() {
    long bytes = bytesOfArrays(i -> i * 31 % 1000);
    assertThat(estimateOfSamples(i -> new byte[i * 31 % 1000]))
        .isBetween(bytes * 9 / 10, bytes * 11 / 10);
  }

  @Test
  void sizesThatChangeAreEstimatedWithinATenth() {
    IntUnaryOperator length = i -> i < 5000 ? 100 : 10_100;
    long bytes = bytesOfArrays(length);
    assertThat(estimateOfSamples(i -> new byte[length.applyAsInt(i)]))
        .isBetween(bytes * 9 / 10, bytes * 11 / 10);
    assertThat(estimateOfArrays(length)).isBetween(bytes * 9 / 10, bytes * 11 / 10);
  }

  /**
   * Without a large record in the samples, an estimate is the greater of two: 32 bytes for each record, or the
   * serialized bytes, which are 14 fewer for each. That is more than two thirds of the truth. A large record in a
   * sample stands for up to 64 records. If n of them are expected in the samples of all runs, there are more than
   * 2 n + 8 less than once in a hundred thousand times.
   */
  @ParameterizedTest
  @ValueSource(ints = {2, 3, 5, 8, 16, 17, 32, 64, 100, 128, 250, 1000, 1024, 4096})
  void noOrderHidesLargeRecords(int every) {
    int large = 200 << random.nextInt(10);
    int at = random.nextInt(every);
    IntUnaryOperator length = i -> i % every == at ? large : 8;
    long bytes = RUNS * bytesOfArrays(length);
    assertThat(sumOfRuns(() -> estimateOfArrays(length)))
        .as("seed %d, %d bytes", seed, large)
        .isBetween(bytes * 2 / 3 - large, 2 * bytes + 8 * 64L * large);
  }

  /** One sample in four has none of the large records; their serialized bytes are 85 % of the truth all the same. */
  @Test
  void serializedBytesHaveWhatSamplesMiss() {
    IntUnaryOperator length = i -> i % 250 == 7 ? 15_000 : 8;
    long bytes = bytesOfArrays(length);
    for (int i = 0; i < 40; i++) {
      assertThat(estimateOfArrays(length)).isGreaterThan(bytes * 4 / 5);
    }
  }

  /** The next record is as large as the estimate of all those before it, or nearly nothing. */
  @Test
  void recordsThatGrowAreEstimated() {
    IntUnaryOperator length = i -> i % 7 == 0 ? i / 2 : i % 100;
    long bytes = bytesOfArrays(length);
    assertThat(estimateOfArrays(length)).isBetween(bytes * 9 / 10, 2 * bytes);
  }

  @Test
  void aSingleHugeRecordIsMeasured() {
    RecordSizes sizes = new RecordSizes();
    for (int i = 0; i < 1000; i++) {
      sizes.add("key", new byte[10], 20);
    }
    long before = sizes.bytes();
    sizes.add("key", new byte[50 << 20], (50 << 20) + 10);
    assertThat(sizes.bytes() - before).isBetween(50L << 20, 51L << 20);
    assertThat(sizes.largestBytesOfOne()).isBetween(50L << 20, 51L << 20);
    sizes.startOver();
    assertThat(sizes.bytes()).isZero();
  }

  /** Of which the serialized bytes tell nothing. An estimate has a standard deviation of up to a quarter. */
  @ParameterizedTest
  @ValueSource(ints = {2, 4, 16, 20})
  void noOrderHidesRecordsThatAreSmallWhenSerialized(int every) {
    IntUnaryOperator length = i -> i % every == 1 ? 10_000 : 8;
    long bytes = RUNS * bytesOfArrays(length);
    assertThat(sumOfRuns(() -> estimate(i -> new byte[length.applyAsInt(i)], i -> 4)))
        .isBetween(bytes / 2, 2 * bytes);
  }

  @Test
  void whatAllRecordsReferToCountsAsNothing() {
    byte[] large = new byte[10 << 20];
    long ofItsOwn = RECORDS * (2 * 4L + 24 + 16); // two references, a list, and an integer
    assertThat(estimateOfSamples(i -> List.of(large, 1000 + i))).isBetween(ofItsOwn, 2 * ofItsOwn);
  }

  /** A record that is measured by itself is compared with the one before. */
  @Test
  void whatLargeRecordsReferToCountsOnce() {
    byte[] all = new byte[10 << 20];
    int every = 100;
    long serialized = RECORDS / every * 100_000L + RECORDS * 30L;
    assertThat(estimate(
            i -> i % every == 0 ? List.of(all, new byte[100_000]) : List.of(all, 1000 + i),
            i -> i % every == 0 ? 100_000 : 30))
        .isBetween(serialized, 2 * serialized + all.length);
  }
}
