/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class RatioTest {
  @Test
  void theMedianOfAnEvenNumberLiesBetweenTheTwoInTheMiddle() {
    assertThat(Ratio.median(new double[] {4, 1, 3, 2})).isEqualTo(2.5);
    assertThat(Ratio.median(new double[] {9, 1, 2})).isEqualTo(2);
  }

  @Test
  void equalPairsLeaveNoDoubt() {
    assertThat(Ratio.of(new double[] {1.2, 1.2, 1.2})).isEqualTo(new Ratio(1.2, 1.2, 1.2, 3));
  }

  /**
   * The interval of the median of n ordered values is known without a bootstrap: for 12 values it
   * reaches from the third to the tenth with a confidence of 96 %.
   */
  @Test
  void theIntervalOfTwelvePairsReachesFromTheThirdToTheTenth() {
    double[] ratios = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    Ratio ratio = Ratio.of(ratios);
    assertThat(ratio.median()).isEqualTo(6.5);
    assertThat(ratio.low()).isCloseTo(3, within(1.0));
    assertThat(ratio.high()).isCloseTo(10, within(1.0));
  }
}
