/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * The jobs that are measured. Those of rows and TeraSort shuffle {@code rows} records of 100 bytes;
 * those of SQL shuffle {@code rows} rows in 200 partitions, which adaptive execution may coalesce.
 */
enum JobShape {
  SORT_FEW("A: sort of 100-byte records, 8 maps, 8 reduces, lz4", true) {
    @Override
    Job prepare(JavaSparkContext spark, String directory, long rows) {
      return () -> RowJobs.sort(spark, rows, 8, 8);
    }
  },
  SORT_MANY("B: sort of 100-byte records, 400 maps, 400 reduces, lz4", true) {
    @Override
    Job prepare(JavaSparkContext spark, String directory, long rows) {
      return () -> RowJobs.sort(spark, rows, 400, 400);
    }
  },
  SORT_LONGS("sortByKey of longs, 8 maps, 8 reduces, lz4", true) {
    @Override
    Job prepare(JavaSparkContext spark, String directory, long rows) {
      return () -> SortByKeyJobs.sort(spark, rows, Key::mix);
    }
  },
  SORT_STRINGS("sortByKey of strings of about 16 characters, 8 maps, 8 reduces, lz4", true) {
    @Override
    Job prepare(JavaSparkContext spark, String directory, long rows) {
      return () -> SortByKeyJobs.sort(spark, rows, number -> Long.toHexString(Key.mix(number)));
    }
  },
  MOVE_MANY("D: repartition of 100-byte records, 300 maps, 300 reduces, not compressed", false) {
    @Override
    Job prepare(JavaSparkContext spark, String directory, long rows) {
      return () -> RowJobs.repartition(spark, rows, 300, 300);
    }
  },
  MOVE_FEW("E: repartition of 100-byte records, 8 maps, 8 reduces, not compressed", false) {
    @Override
    Job prepare(JavaSparkContext spark, String directory, long rows) {
      return () -> RowJobs.repartition(spark, rows, 8, 8);
    }
  },
  SQL_REPARTITION("SQL: repartition of rows of four columns", true) {
    @Override
    Job prepare(JavaSparkContext spark, String directory, long rows) {
      return () -> SqlJobs.repartition(session(spark), rows);
    }
  },
  SQL_NARROW("SQL: join and aggregation of rows of two columns", true) {
    @Override
    Job prepare(JavaSparkContext spark, String directory, long rows) {
      return () -> SqlJobs.joinAndAggregate(session(spark), rows, 0);
    }
  },
  SQL_WIDE("SQL: join and aggregation of rows of two and twenty columns", true) {
    @Override
    Job prepare(JavaSparkContext spark, String directory, long rows) {
      return () -> SqlJobs.joinAndAggregate(session(spark), rows / 4, 18);
    }
  },
  TERASORT("TeraSort of Hadoop's records from and to files, 16 maps, 16 reduces, lz4", true) {
    @Override
    Job prepare(JavaSparkContext spark, String directory, long rows) throws Exception {
      return new TeraSortJob(spark, directory, rows);
    }

    @Override
    Map<String, String> settings() {
      Map<String, String> settings = new TreeMap<>(super.settings());
      settings.put("spark.kryo.registrationRequired", "true");
      return settings;
    }
  };

  private final String description;
  private final boolean compressed;

  JobShape(String description, boolean compressed) {
    this.description = description;
    this.compressed = compressed;
  }

  /**
   * Returns the job when all is there that it needs.
   *
   * @param directory where it may keep files
   */
  abstract Job prepare(JavaSparkContext spark, String directory, long rows) throws Exception;

  String description() {
    return description;
  }

  /** The settings of Spark that the shape needs beside those of all. */
  Map<String, String> settings() {
    return Map.of(
        "spark.shuffle.compress",
        Boolean.toString(compressed),
        "spark.sql.autoBroadcastJoinThreshold",
        "-1");
  }

  /** The name for users, for example {@code sort-few}. */
  String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  static JobShape ofLabel(String label) {
    return Arrays.stream(values())
        .filter(shape -> shape.label().equals(label))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no shape is named " + label + ": give "
            + Arrays.stream(values()).map(JobShape::label).collect(Collectors.joining(", "))));
  }

  private static SparkSession session(JavaSparkContext spark) {
    return SparkSession.builder().sparkContext(spark.sc()).getOrCreate();
  }
}
