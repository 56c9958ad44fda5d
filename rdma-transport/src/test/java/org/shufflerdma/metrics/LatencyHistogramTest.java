/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LatencyHistogramTest {
  private static final double[] PARTS = {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};

  private final LatencyHistogram times = new LatencyHistogram();

  private void assertQuantilesOf(long... recorded) {
    long[] sorted = recorded.clone();
    Arrays.sort(sorted);
    for (double part : PARTS) {
      long exact = sorted[(int) Math.ceil(part * sorted.length) - 1];
      assertThat(times.quantileNs(part))
          .as("the quantile %s of %d times", part, sorted.length)
          .isBetween(exact, exact + exact / 8);
    }
    assertThat(times.count()).isEqualTo(sorted.length);
    assertThat(times.totalNs()).isEqualTo(Arrays.stream(sorted).sum());
    assertThat(times.maxNs()).isEqualTo(sorted[sorted.length - 1]);
  }

  @Test
  void anEmptyOneHasOnlyZeros() {
    assertThat(times.count()).isZero();
    assertThat(times.totalNs()).isZero();
    assertThat(times.maxNs()).isZero();
    assertThat(times.quantileNs(0.99)).isZero();
  }

  @Test
  void everyTimeUpToAnHourIsFoundWithinOneEighth() {
    for (long ns = 0; ns <= TimeUnit.HOURS.toNanos(1); ns += 1 + ns / 50) {
      LatencyHistogram two = new LatencyHistogram();
      two.record(ns);
      two.record(TimeUnit.DAYS.toNanos(1));
      assertThat(two.quantileNs(0.5)).as("%d ns", ns).isBetween(ns, ns + ns / 8);
    }
  }

  @Test
  void quantilesOfRandomTimesAreWithinOneEighthAndSumAndMaximumAreExact() {
    long seed = new Random().nextLong();
    System.out.println("seed " + seed);
    Random random = new Random(seed);
    long[] recorded = new long[10_000];
    for (int i = 0; i < recorded.length; i++) {
      recorded[i] = 1 + (random.nextLong() & ((1L << (1 + random.nextInt(35))) - 1));
      times.record(recorded[i]);
    }
    assertQuantilesOf(recorded);
  }

  @Test
  void aSampleCountsForAsManyAsItStandsFor() {
    times.record(100, 16);
    times.record(5_000);
    assertThat(times.count()).isEqualTo(17);
    assertThat(times.totalNs()).isEqualTo(6_600);
    assertThat(times.quantileNs(0.5)).isBetween(100L, 112L);
    assertThat(times.quantileNs(1)).isEqualTo(5_000);
  }

  @Test
  void aTimeOfDaysIsTheMaximumAndANegativeOneIsZero() {
    times.record(TimeUnit.DAYS.toNanos(30));
    times.record(-1);
    assertThat(times.quantileNs(1)).isEqualTo(TimeUnit.DAYS.toNanos(30));
    assertThat(times.quantileNs(0.5)).isZero();
    assertThat(times.totalNs()).isEqualTo(TimeUnit.DAYS.toNanos(30));
  }

  @Test
  void noRecordOfThreadsThatRecordAtTheSameTimeIsLost() throws Exception {
    int threads = 4;
    int each = 100_000;
    List<Thread> running = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      long ofThread = 1L + i;
      Thread thread = new Thread(() -> {
        for (int k = 1; k <= each; k++) {
          times.record(ofThread * k);
        }
      });
      thread.start();
      running.add(thread);
    }
    for (Thread thread : running) {
      thread.join();
    }
    long[] recorded = new long[threads * each];
    for (int i = 0; i < recorded.length; i++) {
      recorded[i] = (1L + i / each) * (1 + i % each);
    }
    assertQuantilesOf(recorded);
  }

  @Test
  void aPartThatIsNoneIsRefused() {
    assertThatThrownBy(() -> times.quantileNs(99))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("99");
  }

  @Test
  void itsTextHasUnits() {
    times.record(TimeUnit.MICROSECONDS.toNanos(250));
    assertThat(times.toString())
        .isEqualTo("1 times, total 0.250 ms, p50 250 us, p99 250 us, max 250 us");
  }
}
