/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;

/** Shuffles of rows as SQL makes them, in 200 partitions, Spark's default. */
final class SqlJobs {
  private static final int PARTITIONS = 200;
  private static final Pattern SPARKS_EXCHANGE = Pattern.compile("(^|[ -])Exchange ");

  private SqlJobs() {}

  static long repartition(SparkSession session, long rows) {
    Dataset<Row> table = session
        .range(0, rows, 1, PARTITIONS)
        .selectExpr(
            "id",
            "hash(id) AS number",
            "cast(xxhash64(id) AS double) AS real",
            "concat('row ', cast(xxhash64(id, 1) AS string)) AS name");
    return checksum(
        table.repartition(PARTITIONS, functions.col("number")), List.of("id", "number", "name"));
  }

  /**
   * Joins a table of {@code rows} with one of a tenth as many by a key, and sums up by another one.
   *
   * @param moreColumns strings of some 20 bytes that each row of the larger table has besides
   */
  static long joinAndAggregate(SparkSession session, long rows, int moreColumns) {
    List<String> columns =
        new ArrayList<>(List.of("pmod(xxhash64(id), " + rows / 10 + ") AS key", "id AS amount"));
    for (int i = 0; i < moreColumns; i++) {
      columns.add("concat('c', cast(xxhash64(id, " + i + ") AS string)) AS text" + i);
    }
    Dataset<Row> facts =
        session.range(0, rows, 1, PARTITIONS).selectExpr(columns.toArray(new String[0]));
    Dataset<Row> names =
        session.range(0, rows / 10, 1, PARTITIONS).selectExpr("id AS key", "hash(id) AS name");
    List<String> read = new ArrayList<>(List.of("amount", "name"));
    List<Column> sums = new ArrayList<>(List.of(functions.sum("amount").as("amount")));
    for (int i = 0; i < moreColumns; i++) {
      sums.add(functions.max("text" + i).as("text" + i));
      read.add("text" + i);
    }
    Dataset<Row> joined = facts
        .join(names, "key")
        .groupBy("name")
        .agg(sums.get(0), sums.subList(1, sums.size()).toArray(new Column[0]));
    return checksum(joined, read);
  }

  /** Sums up a hash of the columns of each row, which no order changes. */
  private static long checksum(Dataset<Row> rows, List<String> columns) {
    String hash = "pmod(xxhash64(" + String.join(", ", columns) + "), 1000000007)";
    Dataset<Row> sum = rows.selectExpr(hash + " AS hash").agg(functions.sum("hash"));
    requireExchangesOfComet(sum);
    return sum.head().getLong(0);
  }

  /** Where Comet is to shuffle it leaves what it cannot do to Spark, without a word. */
  private static void requireExchangesOfComet(Dataset<Row> rows) {
    if (rows.sparkSession().conf().get("spark.comet.shuffle.enabled", "false").equals("true")) {
      String plan = rows.queryExecution().executedPlan().toString();
      if (plan.lines().anyMatch(SPARKS_EXCHANGE.asPredicate())) {
        throw new IllegalStateException("Comet leaves exchanges to Spark:\n" + plan);
      }
    }
  }
}
