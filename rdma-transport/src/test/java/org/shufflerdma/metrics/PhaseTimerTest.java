/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class PhaseTimerTest {
  @Test
  void tellsTimeAndCpuTimeOfTheWholeAndOfEachPhaseInTheirOrder() {
    PhaseTimer timer = new PhaseTimer();
    timer.ended("device");
    timer.ended("canary");
    assertThat(timer.toString())
        .matches("\\d+ \\(\\d+\\) ms: device \\d+ \\(\\d+\\), canary \\d+ \\(\\d+\\)");
  }
}
