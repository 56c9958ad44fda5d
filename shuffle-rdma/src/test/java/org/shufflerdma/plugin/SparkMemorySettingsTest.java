/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.shufflerdma.device.ExecutorMemory;
import org.shufflerdma.verbs.NativeLibrary;

class SparkMemorySettingsTest {
  private static final long MIB = 1 << 20;
  private static final long GIB = 1 << 30;

  @BeforeAll
  static void loadTheLibraryThatReadsTheLimitOfLockedMemory() throws Exception {
    NativeLibrary.load();
  }

  private static ExecutorMemory.Overhead overhead(long bytes) {
    return new ExecutorMemory.Overhead(bytes, "spark.executor.memoryOverhead");
  }

  @Test
  void settingsAndProcessGiveTheMemory() {
    SparkConf conf = new SparkConf(false)
        .set("spark.executor.cores", "4")
        .set("spark.executor.memoryOverhead", "512m");
    ExecutorMemory memory = SparkMemorySettings.memory(conf);
    assertThat(memory.overhead()).isEqualTo(overhead(512 * MIB));
    assertThat(memory.inFlightBytes()).isEqualTo((4 * 48 + 200) * MIB);
    assertThat(memory.hostBytes()).isGreaterThanOrEqualTo(memory.containerBytes());
    assertThat(memory.heapBytes()).isLessThanOrEqualTo(memory.hostBytes());
  }

  @Test
  void yarnAndKubernetesGiveAnOverheadThatNobodySet() {
    SparkConf conf =
        new SparkConf(false).set("spark.master", "yarn").set("spark.executor.memory", "10g");
    assertThat(SparkMemorySettings.memory(conf).overhead()).isEqualTo(overhead(GIB));
    assertThat(SparkMemorySettings.memory(conf).residentCounts()).isTrue();
    conf.set("spark.executor.memory", "1g");
    assertThat(SparkMemorySettings.memory(conf).overhead()).isEqualTo(overhead(384 * MIB));
    conf.set("spark.master", "spark://host:7077");
    assertThat(SparkMemorySettings.memory(conf).overhead()).isNull();
    assertThat(SparkMemorySettings.memory(conf).residentCounts()).isFalse();
    conf.set("spark.master", "k8s://https://host:443");
    assertThat(SparkMemorySettings.memory(conf).residentCounts()).isFalse();
  }

  @Test
  void onAStandaloneClusterCoresTellHowManyExecutorsShareAHost() {
    SparkConf conf = new SparkConf(false).set("spark.master", "spark://host:7077");
    assertThat(SparkMemorySettings.executorsByCores(conf, 16))
        .as("one takes all cores")
        .isEqualTo(1);
    conf.set("spark.cores.max", "8");
    assertThat(SparkMemorySettings.executorsByCores(conf, 16))
        .as("other applications")
        .isEqualTo(16);
    conf.set("spark.executor.cores", "5");
    assertThat(SparkMemorySettings.executorsByCores(conf, 16)).isEqualTo(3);
    conf.set("spark.executor.cores", "32");
    assertThat(SparkMemorySettings.executorsByCores(conf, 16)).isEqualTo(1);
    conf.set("spark.master", "yarn").set("spark.executor.cores", "5");
    assertThat(SparkMemorySettings.executorsByCores(conf, 16))
        .as("a share of its own")
        .isEqualTo(1);
  }
}
