/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import scala.Tuple2;

/**
 * Writes random records with Spark's writers and with the plugin's, in real local tasks, and compares the files. The seed is in
 * the name of a test.
 */
class BufferedShuffleWriterTest {
  private static final int MAPS = 2;
  private static final int LARGE_RECORD = 3 << 20;

  /** One configuration, and how records and partitions are drawn. */
  record Setup(
      String serializer,
      String codec,
      boolean encrypted,
      boolean spilling,
      int partitions,
      int records,
      int mostBytes,
      long seed)
      implements Serializable {
    SparkConf conf() {
      SparkConf conf = new SparkConf(false)
          .setMaster("local[1]")
          .setAppName("writers")
          .set("spark.ui.enabled", "false")
          .set("spark.driver.bindAddress", "127.0.0.1")
          .set("spark.driver.host", "127.0.0.1")
          .set("spark.serializer", "org.apache.spark.serializer." + serializer)
          .set("spark.kryoserializer.buffer.max", "16m")
          .set("spark.shuffle.manager", ComparedWriters.class.getName())
          .set("spark.shuffle.checksum.algorithm", seed % 2 == 0 ? "ADLER32" : "CRC32C")
          .set("spark.shuffle.compress", String.valueOf(!codec.equals("none")))
          .set("spark.io.encryption.enabled", String.valueOf(encrypted));
      return codec.equals("none") ? conf : conf.set("spark.io.compression.codec", codec);
    }

    /**
     * Whether the bytes follow from the records: each block has another initial vector, a spill ends a frame of lz4, and
     * those of zstd depend on how many bytes it is given at a time.
     */
    boolean determined() {
      return !encrypted && !spilling && !codec.equals("zstd");
    }
  }

  static Stream<Setup> setups() {
    List<Setup> setups = new ArrayList<>();
    Random seeds = new Random(33);
    for (String serializer : new String[] {"KryoSerializer", "JavaSerializer"}) {
      for (String codec : new String[] {"none", "lz4", "zstd", "snappy", "lzf"}) {
        for (boolean encrypted : new boolean[] {false, true}) {
          for (boolean spilling : new boolean[] {false, true}) {
            setups.add(new Setup(
                serializer,
                codec,
                encrypted,
                spilling,
                1 + seeds.nextInt(300),
                3000,
                spilling ? 10_000 : 2000,
                seeds.nextInt(1000)));
          }
        }
      }
      setups.add(new Setup(serializer, "lz4", false, false, 1, 20, LARGE_RECORD, 1));
      setups.add(new Setup(serializer, "lz4", false, true, 3, 60, LARGE_RECORD, 2));
      setups.add(new Setup(serializer, "lz4", false, false, 20_000, 3000, 100, 3));
      setups.add(new Setup(serializer, "lz4", false, true, 10_000, 30_000, 1000, 4));
      setups.add(new Setup(serializer, "lz4", false, false, 10, 0, 1, 5));
    }
    return setups.stream();
  }

  @BeforeEach
  void forget() {
    ComparedWriters.COMPARISONS.clear();
  }

  @ParameterizedTest
  @MethodSource("setups")
  void theFilesAreThoseOfSparksWriters(Setup setup) throws SparkException {
    ComparedWriters.recordsPerTheft = setup.spilling() ? Math.max(2, setup.records() / 10) : 0;
    try (JavaSparkContext context = new JavaSparkContext(setup.conf())) {
      JavaPairRDD<Integer, byte[]> shuffled = context
          .parallelize(IntStream.range(0, MAPS).boxed().toList(), MAPS)
          .flatMapToPair(map -> records(setup, map).iterator())
          .partitionBy(new HashPartitioner(setup.partitions()));
      context
          .sc()
          .submitMapStage(
              (ShuffleDependency<?, ?, ?>) shuffled.rdd().dependencies().head())
          .get();
    }
    assertThat(ComparedWriters.COMPARISONS).hasSize(MAPS).allSatisfy(found -> {
      assertThat(found.sameRecords()).isTrue();
      assertThat(found.sameMetrics()).isTrue();
      assertThat(found.toldChecksums()).isTrue();
      assertThat(found.nothingLeft()).isTrue();
      assertThat(found.statusOnce()).isTrue();
      if (setup.determined()) {
        assertThat(found.sameBytes()).isTrue();
        assertThat(found.sameChecksums()).isTrue();
      }
      assertThat(found.spilledBytes()).matches(bytes -> setup.spilling() == bytes > 0);
    });
  }

  /** A few partitions have most of the records, and some have none; a value in ten is large. */
  private static List<Tuple2<Integer, byte[]>> records(Setup setup, int map) {
    Random random = new Random(setup.seed() + map);
    return random
        .ints(setup.records(), 0, setup.partitions())
        .mapToObj(key -> {
          int most = random.nextInt(10) == 0 ? setup.mostBytes() : 1 + setup.mostBytes() / 10;
          byte[] value = new byte[random.nextInt(most + 1)];
          if (random.nextBoolean()) {
            random.nextBytes(value);
          }
          return new Tuple2<>(random.nextBoolean() ? key : key % 7, value);
        })
        .toList();
  }
}
