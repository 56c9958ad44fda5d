/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.DoubleStream;

/**
 * How many times better the plugin was than another side: the median over pairs of runs of the other
 * side's figure divided by the plugin's. Runs of one application are alike, because the JVMs of
 * another one compile the job otherwise. With enough applications, {@code low} and {@code high} are
 * therefore the interval in which 95 % of the medians lie when first applications and then rounds of
 * each of them are drawn again (percentile bootstrap, with a fixed seed). With fewer they are the
 * least and the most ratio of a pair, from which nothing follows for other applications.
 */
record Ratio(double median, double low, double high, int applications, int pairs) {
  static final int LEAST_APPLICATIONS = 6;
  private static final int RESAMPLES = 10_000;
  private static final double TAIL = 0.025;

  /** The ratios of each application's pairs, in any order; at least one. */
  static Ratio of(Collection<double[]> applications) {
    double[] all =
        applications.stream().flatMapToDouble(DoubleStream::of).sorted().toArray();
    if (applications.size() < LEAST_APPLICATIONS) {
      return new Ratio(median(all), all[0], all[all.length - 1], applications.size(), all.length);
    }
    double[] medians = resampledMedians(List.copyOf(applications));
    return new Ratio(
        median(all),
        medians[(int) (RESAMPLES * TAIL)],
        medians[(int) (RESAMPLES * (1 - TAIL)) - 1],
        applications.size(),
        all.length);
  }

  private static double[] resampledMedians(List<double[]> applications) {
    Random random = new Random(1);
    double[] medians = new double[RESAMPLES];
    for (int i = 0; i < RESAMPLES; i++) {
      DoubleStream.Builder sample = DoubleStream.builder();
      for (int j = 0; j < applications.size(); j++) {
        double[] rounds = applications.get(random.nextInt(applications.size()));
        for (int k = 0; k < rounds.length; k++) {
          sample.add(rounds[random.nextInt(rounds.length)]);
        }
      }
      medians[i] = median(sample.build().toArray());
    }
    Arrays.sort(medians);
    return medians;
  }

  static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  boolean hasInterval() {
    return applications >= LEAST_APPLICATIONS;
  }

  /** The median with the interval in brackets, or with the least and the most. */
  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        hasInterval() ? "%.2f [%.2f, %.2f]" : "%.2f (%.2f to %.2f)",
        median,
        low,
        high);
  }
}
