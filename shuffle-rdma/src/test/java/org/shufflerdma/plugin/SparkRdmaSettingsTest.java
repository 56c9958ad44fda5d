/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.shufflerdma.DocsPage;

class SparkRdmaSettingsTest {
  @Test
  void settingOfSparkRdmaIsRemovedWithANote() {
    Map<String, String> conf = new HashMap<>(Map.of(
        "spark.shuffle.rdma.device.num",
        "0",
        "spark.shuffle.rdma.device",
        "soft",
        "device.num",
        "1"));
    assertThat(SparkRdmaSettings.removeFrom(conf))
        .singleElement()
        .asString()
        .contains("spark.shuffle.rdma.device.num", "`spark.shuffle.rdma.device`");
    assertThat(conf).containsOnlyKeys("spark.shuffle.rdma.device", "device.num");
  }

  @Test
  void thePageOfSettingsSaysWhatToUseInstead() throws Exception {
    assertThat(DocsPage.named("configuration.md").rows("| setting | instead |"))
        .containsExactlyElementsOf(SparkRdmaSettings.INSTEAD.entrySet().stream()
            .map(entry -> List.of("`spark.shuffle.rdma." + entry.getKey() + "`", entry.getValue()))
            .toList());
  }
}
