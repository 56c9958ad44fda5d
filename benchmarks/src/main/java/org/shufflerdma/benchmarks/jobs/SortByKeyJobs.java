/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.io.Serializable;
import java.util.List;
import java.util.function.LongFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Sorts of pairs by {@code sortByKey}, which first takes a sample of the keys to find the ranges. */
final class SortByKeyJobs {
  private static final int PARTITIONS = 8;

  private SortByKeyJobs() {}

  /** Returns the key of a number. The keys of all numbers look random. */
  interface KeyOfNumber<K> extends LongFunction<K>, Serializable {}

  static <K extends Comparable<K>> long sort(
      JavaSparkContext spark, long rows, KeyOfNumber<K> key) {
    List<Integer> maps = IntStream.range(0, PARTITIONS).boxed().toList();
    JavaPairRDD<K, Long> sorted = spark
        .parallelize(maps, PARTITIONS)
        .mapPartitionsToPair(map -> {
          long number = map.next();
          return LongStream.range(rows * number / PARTITIONS, rows * (number + 1) / PARTITIONS)
              .mapToObj(row -> new Tuple2<>(key.apply(row), row))
              .iterator();
        })
        .sortByKey(true, PARTITIONS);
    return RowJobs.digest(
        sorted, rows, true, () -> record -> Key.mix(record._2()) ^ record._1().hashCode());
  }
}
