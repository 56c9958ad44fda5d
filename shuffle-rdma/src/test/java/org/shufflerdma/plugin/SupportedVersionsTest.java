/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SupportedVersionsTest {
  @ParameterizedTest
  @ValueSource(strings = {"3.5.0", "3.5.9", "4.0.4", "4.1.3", "4.2.0", "4.2.1-amzn-0"})
  void versionsInTheRangeAreTaken(String version) {
    assertThatCode(() -> SupportedVersions.check(version)).doesNotThrowAnyException();
  }

  @ParameterizedTest
  @ValueSource(strings = {"3.4.4", "2.4.8", "4.3.0", "5.0.0", "unknown"})
  void othersAreRefusedWithARemedy(String version) {
    assertThatThrownBy(() -> SupportedVersions.check(version))
        .hasMessageContainingAll(version, "Use one of those", "remove spark.shuffle.manager");
  }
}
