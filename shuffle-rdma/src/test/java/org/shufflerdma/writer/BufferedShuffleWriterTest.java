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
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import scala.Tuple2;

/**
 * Writes random records or rows with Spark's writers and with the plugin's, in real local tasks, and compares the files. The seed is in
 * the name of a test.
 */
class BufferedShuffleWriterTest {
  private static final int MAPS = 2;
  private static final int LARGE_RECORD = 3 << 20;

  /** With it frames have 1001 bytes, so that some end in the midst of the length of a row. */
  private static final int SEED_OF_ODD_FRAMES = 1001;

  private static final String ROWS = "UnsafeRowSerializer";

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
          .set(
              "spark.serializer",
              "org.apache.spark.serializer." + (ofRows() ? "KryoSerializer" : serializer))
          .set("spark.kryoserializer.buffer.max", "16m")
          .set("spark.shuffle.manager", ComparedWriters.class.getName())
          .set("spark.shuffle.checksum.algorithm", seed % 2 == 0 ? "ADLER32" : "CRC32C")
          .set("spark.shuffle.compress", String.valueOf(!codec.equals("none")))
          .set("spark.io.encryption.enabled", String.valueOf(encrypted));
      if (seed == SEED_OF_ODD_FRAMES) {
        conf.set("spark.io.compression.lz4.blockSize", "1001b");
      }
      return codec.equals("none") ? conf : conf.set("spark.io.compression.codec", codec);
    }

    boolean ofRows() {
      return serializer.equals(ROWS);
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
    for (String serializer : new String[] {"KryoSerializer", "JavaSerializer", ROWS}) {
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
      setups.add(new Setup(serializer, "lz4", false, false, 7, 3000, 2000, SEED_OF_ODD_FRAMES));
      setups.add(new Setup(serializer, "lz4", false, true, 7, 3000, 10_000, SEED_OF_ODD_FRAMES));
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
      JavaPairRDD<Integer, Object> shuffled = context
          .parallelize(IntStream.range(0, MAPS).boxed().toList(), MAPS)
          .flatMapToPair(map -> records(setup, map).iterator())
          .partitionBy(new HashPartitioner(setup.partitions()));
      SQLMetric dataSize = new SQLMetric("size", 0);
      if (setup.ofRows()) {
        context.sc().register(dataSize, "data size");
        UnsafeRowSerializer serializer = new UnsafeRowSerializer(1, dataSize);
        assertThat(RowStream.accepts(serializer)).isTrue();
        ((ShuffledRDD<?, ?, ?>) shuffled.rdd()).setSerializer(serializer);
      }
      context
          .sc()
          .submitMapStage(
              (ShuffleDependency<?, ?, ?>) shuffled.rdd().dependencies().head())
          .get();
      if (setup.ofRows()) {
        assertThat(dataSize.value()).isEqualTo(dataSizeOf(setup));
      }
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
  private static List<Tuple2<Integer, Object>> records(Setup setup, int map) {
    Random random = new Random(setup.seed() + map);
    return random
        .ints(setup.records(), 0, setup.partitions())
        .mapToObj(key -> {
          int most = random.nextInt(10) == 0 ? setup.mostBytes() : 1 + setup.mostBytes() / 10;
          byte[] value = new byte[random.nextInt(most + 1)];
          if (random.nextBoolean()) {
            random.nextBytes(value);
          }
          return new Tuple2<Integer, Object>(
              random.nextBoolean() ? key : key % 7, setup.ofRows() ? row(value) : value);
        })
        .toList();
  }

  /** Makes a row of one column. About half of them lie in an array of words, as those of Spark's sorters and maps do. */
  private static UnsafeRow row(byte[] value) {
    int lengthBytes = 2 * Long.BYTES + value.length / Long.BYTES * Long.BYTES;
    Object base =
        value.length % 2 == 0 ? new byte[lengthBytes] : new long[lengthBytes / Long.BYTES];
    long offset = base instanceof byte[] ? Platform.BYTE_ARRAY_OFFSET : Platform.LONG_ARRAY_OFFSET;
    Platform.copyMemory(
        value,
        Platform.BYTE_ARRAY_OFFSET,
        base,
        offset + 2 * Long.BYTES,
        lengthBytes - 2 * Long.BYTES);
    UnsafeRow row = new UnsafeRow(1);
    row.pointTo(base, offset, lengthBytes);
    return row;
  }

  /** A task writes all of its rows twice, and once the first half. */
  private static long dataSizeOf(Setup setup) {
    return IntStream.range(0, MAPS)
        .mapToObj(map -> records(setup, map))
        .mapToLong(rows -> 2 * bytesOf(rows) + bytesOf(rows.subList(0, rows.size() / 2)))
        .sum();
  }

  private static long bytesOf(List<Tuple2<Integer, Object>> rows) {
    return rows.stream()
        .mapToLong(row -> ((UnsafeRow) row._2()).getSizeInBytes())
        .sum();
  }
}
