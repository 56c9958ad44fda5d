/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.publication;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import scala.Tuple2;

/**
 * Compares the checksums that would be published with the bytes of the committed files, in real
 * local jobs, for all writers, codecs, with and without encryption, spills and fast merge.
 */
class ChecksumSourceTest {
  private static final int MAPS = 2;
  private static final int PARTITIONS = 7;
  private static final int RECORDS_PER_MAP = 3000;
  private static final String[] ALGORITHMS = {"ADLER32", "CRC32", "CRC32C"};

  /** One Spark configuration. */
  record Setup(
      String codec, boolean encrypted, boolean spilling, boolean fastMerge, String algorithm) {
    SparkConf conf() {
      SparkConf conf = new SparkConf(false)
          .setMaster("local[1]")
          .setAppName("checksums")
          .set("spark.ui.enabled", "false")
          .set("spark.driver.bindAddress", "127.0.0.1")
          .set("spark.driver.host", "127.0.0.1")
          .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
          .set("spark.shuffle.manager", ChecksumRecordingManager.class.getName())
          .set("spark.shuffle.compress", String.valueOf(!codec.equals("none")))
          .set("spark.io.encryption.enabled", String.valueOf(encrypted))
          .set("spark.shuffle.unsafe.fastMergeEnabled", String.valueOf(fastMerge))
          .set("spark.shuffle.sort.bypassMergeThreshold", String.valueOf(PARTITIONS))
          .set("spark.shuffle.checksum.algorithm", algorithm);
      if (!codec.equals("none")) {
        conf.set("spark.io.compression.codec", codec);
      }
      if (spilling) {
        conf.set("spark.shuffle.spill.numElementsForceSpillThreshold", "700");
      }
      return conf;
    }
  }

  static Stream<Setup> setups() {
    List<Setup> setups = new ArrayList<>();
    boolean[] both = {false, true};
    for (String codec : new String[] {"none", "lz4", "lzf", "snappy", "zstd"}) {
      for (boolean encrypted : both) {
        for (boolean spilling : both) {
          String algorithm = ALGORITHMS[setups.size() % ALGORITHMS.length];
          setups.add(new Setup(codec, encrypted, spilling, true, algorithm));
        }
      }
    }
    setups.add(new Setup("lz4", false, true, false, "ADLER32"));
    setups.add(new Setup("snappy", false, true, false, "CRC32C"));
    setups.add(new Setup("zstd", true, true, false, "CRC32"));
    return setups.stream();
  }

  @AfterEach
  void forget() {
    ChecksumRecordingManager.OBSERVATIONS.clear();
  }

  @ParameterizedTest
  @MethodSource("setups")
  void publishedChecksumsAreThoseOfTheFilesBytes(Setup setup) {
    try (JavaSparkContext context = new JavaSparkContext(setup.conf())) {
      JavaPairRDD<Integer, String> records = records(context);
      assertThat(records.partitionBy(new HashPartitioner(PARTITIONS)).count())
          .isEqualTo(MAPS * RECORDS_PER_MAP); // bypass: few partitions, nothing to combine
      records.reduceByKey((a, b) -> a + b, PARTITIONS).count(); // sort: combines
      records // serialized: more partitions than the bypass takes
          .partitionBy(new HashPartitioner(2 * PARTITIONS))
          .count();
    }
    Map<String, Integer> outputsByWriter = new TreeMap<>();
    for (ChecksumRecordingManager.Observation observation : ChecksumRecordingManager.OBSERVATIONS) {
      outputsByWriter.merge(observation.writer(), 1, Integer::sum);
      assertThat(observation.error()).isNull();
      assertThat(observation.published())
          .as(observation + " with " + setup)
          .containsExactly(observation.ofTheBytes());
    }
    assertThat(outputsByWriter)
        .containsExactlyInAnyOrderEntriesOf(Map.of(
            "BypassMergeSortShuffleWriter", MAPS,
            "SortShuffleWriter", MAPS,
            "UnsafeShuffleWriter", MAPS));
    assertThat(ChecksumRecordingManager.OBSERVATIONS.stream()
            .mapToLong(r -> r.spilledBytes())
            .sum())
        .as("bytes spilled with %s", setup)
        .matches(spilled -> setup.spilling() == spilled > 0);
  }

  private static JavaPairRDD<Integer, String> records(JavaSparkContext context) {
    List<Integer> maps = Arrays.asList(IntStream.range(0, MAPS).boxed().toArray(Integer[]::new));
    return context
        .parallelize(maps, MAPS)
        .flatMapToPair(map -> IntStream.range(0, RECORDS_PER_MAP)
            .mapToObj(i -> new Tuple2<>(i, "value " + (i * 31 + map)))
            .iterator());
  }
}
