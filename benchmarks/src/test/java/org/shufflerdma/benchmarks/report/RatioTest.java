/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

class RatioTest {
  @Test
  void theMedianOfAnEvenNumberLiesBetweenTheTwoInTheMiddle() {
    assertThat(Ratio.median(new double[] {4, 1, 3, 2})).isEqualTo(2.5);
    assertThat(Ratio.median(new double[] {9, 1, 2})).isEqualTo(2);
  }

  @Test
  void equalPairsLeaveNoDoubt() {
    assertThat(Ratio.of(applications(1.2, 1.2, 1.2, 1.2, 1.2, 1.2)))
        .isEqualTo(new Ratio(1.2, 1.2, 1.2, 6, 6));
  }

  /**
   * The interval of the median of n ordered values is known without a bootstrap: for 12 values it
   * reaches from the third to the tenth with a confidence of 96 %.
   */
  @Test
  void theIntervalOfTwelveApplicationsReachesFromTheThirdToTheTenth() {
    Ratio ratio = Ratio.of(applications(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    assertThat(ratio.median()).isEqualTo(6.5);
    assertThat(ratio.low()).isCloseTo(3, within(1.0));
    assertThat(ratio.high()).isCloseTo(10, within(1.0));
    assertThat(ratio).hasToString("6.50 [3.50, 9.50]");
  }

  @Test
  void manyRoundsOfAFewApplicationsHaveNoInterval() {
    double[] rounds = DoubleStream.iterate(1, ratio -> ratio + 0.01).limit(100).toArray();
    Ratio ratio = Ratio.of(Collections.nCopies(Ratio.LEAST_APPLICATIONS - 1, rounds));
    assertThat(ratio.hasInterval()).isFalse();
    assertThat(ratio).hasToString("1.50 (1.00 to 1.99)");
  }

  @Test
  void roundsOfOneApplicationDoNotMakeTheIntervalNarrower() {
    List<double[]> one = applications(1, 2, 3, 4, 5, 6);
    List<double[]> many = one.stream()
        .map(each -> DoubleStream.generate(() -> each[0]).limit(100).toArray())
        .toList();
    assertThat(Ratio.of(many).low()).isCloseTo(Ratio.of(one).low(), within(0.5));
    assertThat(Ratio.of(many).high()).isCloseTo(Ratio.of(one).high(), within(0.5));
  }

  /** Applications of one round each. */
  private static List<double[]> applications(double... ratios) {
    return Arrays.stream(ratios).mapToObj(ratio -> new double[] {ratio}).toList();
  }
}
