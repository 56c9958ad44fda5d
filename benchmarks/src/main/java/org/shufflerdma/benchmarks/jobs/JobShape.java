/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * The jobs that are measured. Those of rows shuffle {@code rows} records of 100 bytes; those of SQL
 * shuffle {@code rows} rows in 200 partitions, which adaptive execution may coalesce.
 */
enum JobShape {
  SORT_FEW("A: sort of 100-byte records, 8 maps, 8 reduces, lz4", true) {
    @Override
    long run(JavaSparkContext spark, long rows) {
      return RowJobs.sort(spark, rows, 8, 8);
    }
  },
  SORT_MANY("B: sort of 100-byte records, 400 maps, 400 reduces, lz4", true) {
    @Override
    long run(JavaSparkContext spark, long rows) {
      return RowJobs.sort(spark, rows, 400, 400);
    }
  },
  MOVE_MANY("D: repartition of 100-byte records, 300 maps, 300 reduces, not compressed", false) {
    @Override
    long run(JavaSparkContext spark, long rows) {
      return RowJobs.repartition(spark, rows, 300, 300);
    }
  },
  MOVE_FEW("E: repartition of 100-byte records, 8 maps, 8 reduces, not compressed", false) {
    @Override
    long run(JavaSparkContext spark, long rows) {
      return RowJobs.repartition(spark, rows, 8, 8);
    }
  },
  SQL_REPARTITION("SQL: repartition of rows of four columns", true) {
    @Override
    long run(JavaSparkContext spark, long rows) {
      return SqlJobs.repartition(session(spark), rows);
    }
  },
  SQL_NARROW("SQL: join and aggregation of rows of two columns", true) {
    @Override
    long run(JavaSparkContext spark, long rows) {
      return SqlJobs.joinAndAggregate(session(spark), rows, 0);
    }
  },
  SQL_WIDE("SQL: join and aggregation of rows of two and twenty columns", true) {
    @Override
    long run(JavaSparkContext spark, long rows) {
      return SqlJobs.joinAndAggregate(session(spark), rows / 4, 18);
    }
  };

  private final String description;
  private final boolean compressed;

  JobShape(String description, boolean compressed) {
    this.description = description;
    this.compressed = compressed;
  }

  /** Runs the job and returns a number that depends on its result alone. */
  abstract long run(JavaSparkContext spark, long rows);

  String description() {
    return description;
  }

  /** Whether the application sets {@code spark.shuffle.compress}. */
  boolean compressed() {
    return compressed;
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
