/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * A query of TPC-DS. In the folder of the benchmarks, {@code tpcds/queries-VERSION} has the texts of a Spark's
 * tests, and {@code tpcds/scale-SCALE} the tables that {@link TpcdsTables} has made.
 */
final class TpcdsQuery implements Job {
  /** Sums of doubles depend on the order of the rows, which no shuffle promises. */
  private static final MathContext DIGITS = new MathContext(6);

  private static final double ROUNDED_TO_ZERO = 1e-9;

  private final SparkSession session;
  private final String text;
  private List<Row> rows = List.of();

  private TpcdsQuery(SparkSession session, String text) {
    this.session = session;
    this.text = text;
  }

  /** Returns the query when the application knows the tables of the scale. */
  static TpcdsQuery prepare(JavaSparkContext spark, Path folder, String name, String scale)
      throws IOException {
    Path tpcds = folder.resolve("tpcds");
    SparkSession session = SparkSession.builder().sparkContext(spark.sc()).getOrCreate();
    try (Stream<Path> tables = Files.list(tpcds.resolve("scale-" + scale))) {
      for (Path table : tables.toList()) {
        String view = String.valueOf(table.getFileName());
        if (!session.catalog().tableExists(view)) {
          session.read().parquet(table.toString()).createOrReplaceTempView(view);
        }
      }
    }
    return new TpcdsQuery(
        session,
        Files.readString(tpcds.resolve("queries-" + spark.version()).resolve(name + ".sql")));
  }

  /** Returns the number of rows. */
  @Override
  public long run() {
    rows = session.sql(text).collectAsList();
    return rows.size();
  }

  /** A hash of all rows. The order of rows is left out, because few queries determine it. */
  @Override
  public long digest(long result) throws NoSuchAlgorithmException {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    rows.stream()
        .map(TpcdsQuery::text)
        .sorted()
        .forEach(row -> digest.update(row.getBytes(StandardCharsets.UTF_8)));
    rows = List.of();
    return ByteBuffer.wrap(digest.digest()).getLong();
  }

  private static String text(Row row) {
    return IntStream.range(0, row.length())
        .mapToObj(column -> text(row.get(column)))
        .collect(Collectors.joining("|", "", "\n"));
  }

  private static String text(Object value) {
    if (!(value instanceof Double number)) {
      return String.valueOf(value);
    }
    if (number.isNaN() || number.isInfinite()) {
      return number.toString();
    }
    return Math.abs(number) < ROUNDED_TO_ZERO
        ? "0"
        : new BigDecimal(number).round(DIGITS).toString();
  }
}
