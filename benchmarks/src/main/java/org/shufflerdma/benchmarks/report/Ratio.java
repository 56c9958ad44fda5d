/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.util.Arrays;
import java.util.Locale;
import java.util.Random;

/**
 * How many times better the plugin was than Spark's own shuffle: the median over pairs of runs of
 * stock's figure divided by the plugin's, with the interval in which 95 % of the medians of resampled
 * pairs lie (percentile bootstrap, with a fixed seed).
 */
record Ratio(double median, double low, double high, int pairs) {
  private static final int RESAMPLES = 10_000;
  private static final double TAIL = 0.025;

  /** The ratios of pairs, in any order; at least one. */
  static Ratio of(double[] ratios) {
    Random random = new Random(1);
    double[] medians = new double[RESAMPLES];
    double[] sample = new double[ratios.length];
    for (int i = 0; i < RESAMPLES; i++) {
      for (int j = 0; j < sample.length; j++) {
        sample[j] = ratios[random.nextInt(ratios.length)];
      }
      medians[i] = median(sample);
    }
    Arrays.sort(medians);
    return new Ratio(
        median(ratios),
        medians[(int) (RESAMPLES * TAIL)],
        medians[(int) (RESAMPLES * (1 - TAIL)) - 1],
        ratios.length);
  }

  static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  @Override
  public String toString() {
    return String.format(Locale.ROOT, "%.2f (%.2f to %.2f)", median, low, high);
  }
}
