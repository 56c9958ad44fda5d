/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import io.trino.tpcds.Results;
import io.trino.tpcds.Session;
import io.trino.tpcds.Table;
import io.trino.tpcds.column.Column;
import io.trino.tpcds.column.ColumnType;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Makes the tables of TPC-DS as Parquet files in a local application. The rows are those of the
 * generator for the scale, and do not depend on the number of tasks.
 *
 * <p>Arguments: SCALE FOLDER
 */
public final class TpcdsTables {
  /** A table gets a file for so many of its rows, but no more than {@link #MOST_CHUNKS}. */
  private static final int CHUNK_ROWS = 250_000;

  private static final int MOST_CHUNKS = 8;

  private final JavaSparkContext spark;
  private final double scale;
  private final String folder;

  private TpcdsTables(JavaSparkContext spark, double scale, String folder) {
    this.spark = spark;
    this.scale = scale;
    this.folder = folder;
  }

  public static void main(String[] arguments) {
    try (JavaSparkContext spark = new JavaSparkContext()) {
      TpcdsTables tables = new TpcdsTables(spark, Double.parseDouble(arguments[0]), arguments[1]);
      Table.getBaseTables().stream()
          .filter(table -> table != Table.DBGEN_VERSION)
          .forEach(tables::write);
    }
  }

  private void write(Table table) {
    // The rows of sales bring those of returns.
    Table source = table.isChild() ? table.getParent() : table;
    long rows = Session.getDefaultSession().withScale(scale).getScaling().getRowCount(source);
    int chunks = (int) Math.max(1, Math.min(MOST_CHUNKS, rows / CHUNK_ROWS));
    double ofScale = scale;
    String sourceName = source.name();
    int place = table.isChild() ? 1 : 0;
    JavaRDD<Row> made = spark
        .parallelize(IntStream.rangeClosed(1, chunks).boxed().toList(), chunks)
        .flatMap(chunk -> rows(Table.valueOf(sourceName), ofScale, chunk, chunks, place));
    StructType schema = new StructType();
    List<String> typed = new ArrayList<>();
    for (Column column : table.getColumns()) {
      schema = schema.add(column.getName(), DataTypes.StringType);
      typed.add("CAST(%s AS %s) AS %s".formatted(column.getName(), type(column), name(column)));
    }
    SparkSession.builder()
        .sparkContext(spark.sc())
        .getOrCreate()
        .createDataFrame(made, schema)
        .selectExpr(typed.toArray(new String[0]))
        .write()
        .mode(SaveMode.Overwrite)
        .parquet(folder + "/" + table.name().toLowerCase(Locale.ROOT));
  }

  private static Iterator<Row> rows(Table source, double scale, int chunk, int chunks, int place) {
    Session session =
        Session.getDefaultSession().withScale(scale).withParallelism(chunks).withChunkNumber(chunk);
    return StreamSupport.stream(Results.constructResults(source, session).spliterator(), false)
        .filter(rows -> rows.size() > place)
        .map(rows -> RowFactory.create(rows.get(place).toArray()))
        .iterator();
  }

  /** The queries name this column as the specification did before version 2. */
  private static String name(Column column) {
    return column.getName().equals("c_last_review_date_sk")
        ? "c_last_review_date"
        : column.getName();
  }

  private static String type(Column column) {
    ColumnType type = column.getType();
    return switch (type.getBase()) {
      case INTEGER, IDENTIFIER -> "INT";
      case DATE -> "DATE";
      case DECIMAL ->
        "DECIMAL(%d, %d)".formatted(type.getPrecision().get(), type.getScale().get());
      default -> "STRING";
    };
  }
}
