/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShufflePluginTest {
  private static final String SUPPORTED = "4.1.3";
  private static final String MANAGER = "spark.shuffle.manager";
  private static final String REQUIRED = "spark.shuffle.rdma.required";

  private static SparkConf conf() {
    return new SparkConf(false).set(MANAGER, "RdmaShuffleManager");
  }

  @ParameterizedTest
  @ValueSource(strings = {"3.4.4", "4.3.0"})
  void onAnUnsupportedSparkExecutorsGetSparksOwnManagerUnlessRdmaIsRequired(String version) {
    SparkConf conf = conf();
    ShufflePlugin.checkAndCreate(conf, true, true, version);
    assertThat(conf.get(MANAGER)).isEqualTo("sort");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> ShufflePlugin.checkAndCreate(conf().set(REQUIRED, "true"), true, true, version))
        .withMessageContainingAll(REQUIRED + "=true", "this is Spark " + version);
  }

  @Test
  void anUnknownKeyIsIgnoredUnlessRdmaIsRequired() {
    SparkConf conf = conf().set("spark.shuffle.rdma.poolByte", "1g");
    ShufflePlugin.checkAndCreate(conf, true, true, SUPPORTED);
    assertThat(conf.get(MANAGER)).isEqualTo("RdmaShuffleManager");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> ShufflePlugin.checkAndCreate(conf.set(REQUIRED, "true"), true, true, SUPPORTED))
        .withMessageContainingAll("spark.shuffle.rdma.poolByte", "spark.shuffle.rdma.poolBytes");
  }

  @Test
  void theManagerOfSomebodyElseStaysWhatItIs() {
    SparkConf conf = conf().set("spark.shuffle.manager", "org.example.Manager");
    ShufflePlugin.checkAndCreate(conf, true, false, "4.3.0");
    assertThat(conf.get("spark.shuffle.manager")).isEqualTo("org.example.Manager");
  }

  @Test
  void aBadValueIsRefusedEvenOnAnUnsupportedSpark() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ShufflePlugin.checkAndCreate(
            conf().set("spark.shuffle.rdma.poolBytes", "1m"), true, true, "4.3.0"))
        .withMessageContainingAll("spark.shuffle.rdma.poolBytes=1m", "16m to 1t", "Correct");
  }

  @ParameterizedTest
  @CsvSource({
    "spark.shuffle.rdma.enabled,false",
    "spark.shuffle.rdma.device,none",
    "spark.shuffle.useOldFetchProtocol,true",
    "spark.network.crypto.enabled,true"
  })
  void whoRequiresRdmaIsToldWhatTurnsItOff(String key, String value) {
    SparkConf conf = conf().set(key, value);
    ShufflePlugin.checkAndCreate(conf, true, true, SUPPORTED);
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> ShufflePlugin.checkAndCreate(conf.set(REQUIRED, "true"), true, true, SUPPORTED))
        .withMessageContainingAll(REQUIRED + "=true", key + "=" + value);
  }
}
