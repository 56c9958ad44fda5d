/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.DocsPage;
import org.shufflerdma.config.RdmaSettings;

class SparkCompatibilityTest {
  private static final String ALLOW = "spark.shuffle.rdma.allowUnencrypted";

  private static String meaningOnThePage() throws IOException {
    return DocsPage.named("configuration.md")
        .rows("| setting | default | type and unit | accepted | meaning |")
        .stream()
        .filter(row -> row.get(0).equals("`" + ALLOW + "`"))
        .map(row -> row.get(4))
        .findFirst()
        .orElseThrow();
  }

  private static @Nullable String reason(SparkConf conf, String allowUnencrypted) {
    return SparkCompatibility.reasonAgainstRdma(
        conf, RdmaSettings.from(Map.of(ALLOW, allowUnencrypted), ShufflePlugin.PREFIX));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "spark.network.crypto.enabled",
        "spark.ssl.rpc.enabled",
        "spark.authenticate.enableSaslEncryption"
      })
  void whereSparkEncryptsItsTrafficOnlyEncryptedFilesOrTheUsersWordLetRdmaOn(String key)
      throws IOException {
    SparkConf conf = new SparkConf(false).set(key, "true");
    assertThat(reason(conf, "false"))
        .startsWith(key + "=true ")
        .contains("spark.io.encryption.enabled=true", ALLOW + "=true");
    assertThat(reason(conf, "true")).isNull();
    assertThat(reason(conf.clone().set("spark.io.encryption.enabled", "true"), "false"))
        .isNull();
    assertThat(reason(conf.set(key, "false"), "false")).isNull();
    assertThat(meaningOnThePage()).contains("`" + key + "`");
  }

  @Test
  void attemptsThatShareTheirFilesLeaveEverythingToTcp() {
    String key = "spark.shuffle.useOldFetchProtocol";
    assertThat(reason(new SparkConf(false).set(key, "false"), "false")).isNull();
    assertThat(reason(new SparkConf(false).set(key, "true"), "false"))
        .contains(key + "=true", "remove it");
  }

  @Test
  void authenticationAloneLetsRdmaOn() {
    assertThat(reason(new SparkConf(false).set("spark.authenticate", "true"), "false"))
        .isNull();
  }
}
