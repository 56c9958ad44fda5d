/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SupportedVersionsTest {
  @ParameterizedTest
  @ValueSource(strings = {"3.5.0", "3.5.9", "4.0.4", "4.1.3", "4.2.0", "4.2.1-amzn-0"})
  void versionsInTheRangeAreTaken(String version) {
    assertThat(SupportedVersions.reasonAgainstRdma(version)).isNull();
  }

  @ParameterizedTest
  @ValueSource(strings = {"3.4.4", "2.4.8", "4.3.0", "5.0.0", "unknown"})
  void onOthersRdmaIsOffWithARemedy(String version) {
    assertThat(SupportedVersions.reasonAgainstRdma(version))
        .contains(version, "use one of those", "remove spark.shuffle.manager");
  }
}
