/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sparktests;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** Shuffles of common kinds. Each gives lines of text that do not depend on who shuffled. */
enum ShuffleJob {
  GROUP_BY_KEY {
    @Override
    List<String> run(JavaSparkContext spark) {
      return sorted(pairs(spark).groupByKey(8).map(group -> {
        List<String> values = new ArrayList<>();
        group._2().forEach(values::add);
        Collections.sort(values);
        return group._1() + " " + values.hashCode();
      }));
    }
  },

  /** Combined by the map tasks. */
  REDUCE_BY_KEY {
    @Override
    List<String> run(JavaSparkContext spark) {
      return sorted(lengths(spark).reduceByKey(Long::sum, 8).map(Tuple2::toString));
    }
  },

  SORT_BY_KEY {
    @Override
    List<String> run(JavaSparkContext spark) {
      return pairs(spark).sortByKey(true, 8).keys().map(String::valueOf).collect();
    }
  },

  /** Two shuffles read by one stage. */
  JOIN {
    @Override
    List<String> run(JavaSparkContext spark) {
      JavaPairRDD<Integer, Long> few = lengths(spark).filter(pair -> pair._1() % 50 == 0);
      return sorted(few.join(lengths(spark).reduceByKey(Long::sum, 8), 5).map(Tuple2::toString));
    }
  },

  /** So many partitions that map statuses hold an average of the sizes; some are read. */
  MANY_PARTITIONS {
    @Override
    List<String> run(JavaSparkContext spark) {
      JavaRDD<String> summed = lengths(spark).reduceByKey(Long::sum, 2100).map(Tuple2::toString);
      List<String> lines = new ArrayList<>();
      int[] some = IntStream.range(0, 2100).filter(i -> i % 25 == 0).toArray();
      for (List<String> partition : summed.collectPartitions(some)) {
        lines.addAll(partition);
      }
      Collections.sort(lines);
      return lines;
    }
  },

  /** A sort-merge join, an aggregation and a sort under adaptive execution. */
  SQL {
    @Override
    List<String> run(JavaSparkContext spark) {
      SparkSession session = SparkSession.builder().getOrCreate();
      Dataset<Row> orders =
          session.range(0, 40_000, 1, MAPS).selectExpr("id", "id % 997 as customer");
      Dataset<Row> customers =
          session.range(0, 997, 1, 2).selectExpr("id as customer", "id % 13 as region");
      return orders
          .join(customers, "customer")
          .groupBy("region")
          .count()
          .orderBy("region")
          .toJavaRDD()
          .map(row -> row.getLong(0) + " " + row.getLong(1))
          .collect();
    }
  };

  private static final int MAPS = 6;
  private static final int ROWS = 60_000;

  abstract List<String> run(JavaSparkContext spark);

  private static JavaPairRDD<Integer, String> pairs(JavaSparkContext spark) {
    return spark.sc().range(0, ROWS, 1, MAPS).toJavaRDD().mapToPair(boxed -> {
      int i = ((Long) boxed).intValue();
      return new Tuple2<>(i * 7919 % 5003, "value-" + i + "x".repeat(i % 40));
    });
  }

  private static JavaPairRDD<Integer, Long> lengths(JavaSparkContext spark) {
    return pairs(spark).mapValues(value -> (long) value.length());
  }

  private static List<String> sorted(JavaRDD<String> lines) {
    List<String> collected = new ArrayList<>(lines.collect());
    Collections.sort(collected);
    return collected;
  }
}
