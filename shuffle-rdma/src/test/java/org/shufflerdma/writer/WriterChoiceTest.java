/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.shuffle.ShuffleWriteProcessor;
import org.apache.spark.shuffle.checksum.RowBasedChecksum;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.shufflerdma.config.WriterMode;
import scala.Option;
import scala.Tuple2;
import scala.reflect.ClassTag$;

/** The shuffles are those of a real application; none of them runs. */
final class WriterChoiceTest {
  private static final int PARTITIONS = 200;

  private static final SparkConf CONF = new SparkConf(false)
      .setMaster("local[1]")
      .setAppName("writers")
      .set("spark.ui.enabled", "false")
      .set("spark.driver.bindAddress", "127.0.0.1")
      .set("spark.driver.host", "127.0.0.1");
  private static final WriterChoice CHOICE = new WriterChoice(CONF, WriterMode.AUTO);

  private static JavaSparkContext spark;

  @BeforeAll
  static void start() {
    spark = new JavaSparkContext(CONF);
  }

  @AfterAll
  static void stop() {
    spark.stop();
  }

  @Test
  void whatCombinesNothingIsBuffered() {
    assertThat(CHOICE.buffers(shuffle(1, new KryoSerializer(CONF)))).isTrue();
    assertThat(CHOICE.buffers(shuffle(10_000, new KryoSerializer(CONF)))).isTrue();
    assertThat(CHOICE.buffers(shuffle(PARTITIONS, new JavaSerializer(CONF)))).isTrue();
  }

  @Test
  void manyStreamsOfASerializerAreLeftToSpark() {
    assertThat(CHOICE.buffers(shuffle(PARTITIONS + 1, new JavaSerializer(CONF))))
        .isFalse();
  }

  @Test
  void whatCombinesIsLeftToSpark() {
    assertThat(CHOICE.buffers(dependency(
            records().reduceByKey(new HashPartitioner(PARTITIONS), (left, right) -> left))))
        .isFalse();
  }

  @Test
  void whatHasChecksumsOfItsRecordsIsBuffered() {
    RowBasedChecksum checksum = new RowBasedChecksum() {
      @Override
      public long calculateRowChecksum(Object key, Object value) {
        return 0;
      }
    };
    assertThat(CHOICE.buffers(new ShuffleDependency<>(
            JavaPairRDD.toRDD(records()),
            new HashPartitioner(PARTITIONS),
            new KryoSerializer(CONF),
            Option.empty(),
            Option.empty(),
            false,
            new ShuffleWriteProcessor(),
            new RowBasedChecksum[] {checksum},
            false,
            ClassTag$.MODULE$.<Integer>apply(Integer.class),
            ClassTag$.MODULE$.<String>apply(String.class),
            ClassTag$.MODULE$.<String>apply(String.class))))
        .isTrue();
  }

  @Test
  void settingsLeaveItToSpark() {
    ShuffleDependency<Integer, String, String> shuffle =
        shuffle(PARTITIONS, new KryoSerializer(CONF));
    assertThat(new WriterChoice(CONF, WriterMode.SPARK).buffers(shuffle)).isFalse();
    SparkConf elsewhere =
        CONF.clone().set("spark.shuffle.sort.io.plugin.class", "com.example.RemoteDataIO");
    assertThat(new WriterChoice(elsewhere, WriterMode.AUTO).buffers(shuffle)).isFalse();
  }

  private static ShuffleDependency<Integer, String, String> shuffle(
      int partitions, Serializer serializer) {
    JavaPairRDD<Integer, String> shuffled = records().partitionBy(new HashPartitioner(partitions));
    ((ShuffledRDD<?, ?, ?>) shuffled.rdd()).setSerializer(serializer);
    return dependency(shuffled);
  }

  @SuppressWarnings("unchecked")
  private static ShuffleDependency<Integer, String, String> dependency(
      JavaPairRDD<Integer, String> shuffled) {
    return (ShuffleDependency<Integer, String, String>)
        shuffled.rdd().dependencies().head();
  }

  private static JavaPairRDD<Integer, String> records() {
    return spark.parallelizePairs(List.of(new Tuple2<>(1, "one")));
  }
}
