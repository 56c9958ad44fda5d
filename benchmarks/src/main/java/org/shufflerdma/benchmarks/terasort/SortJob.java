/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.examples.terasort.TeraInputFormat;
import org.apache.hadoop.examples.terasort.TeraOutputFormat;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * The two Spark jobs of a TeraSort, which make the input and sort it. The main thread runs them.
 */
final class SortJob {
  private static final int SAMPLED_FILES = 10;
  private static final int SAMPLED_ROWS_PER_FILE = 1_000;

  private final JavaSparkContext spark;

  SortJob(JavaSparkContext spark) {
    this.spark = spark;
  }

  /** Writes TeraGen's first {@code records} rows as {@code files} files of almost equal length. */
  void generate(long records, int files, Path input) {
    List<Integer> indices = new ArrayList<>(files);
    for (int i = 0; i < files; i++) {
      indices.add(i);
    }
    JavaPairRDD<Text, Text> rows = spark.parallelize(indices, files).flatMapToPair(index -> {
      long first = Math.multiplyExact(records, (long) index) / files;
      long end = Math.multiplyExact(records, index + 1L) / files;
      return new GeneratedRows(first, end - first);
    });
    write(rows, input);
  }

  /**
   * Sorts with one shuffle, with one map task per file of the input and one reduce task per range
   * of keys.
   */
  void sort(Path input, Path output, int reduces) {
    writeSorted(shuffle(input, reduces), output);
  }

  /**
   * Sorts like {@link #sort}, but reads the shuffle twice. The output is written from the second
   * read, when none of the executors is left that ran the maps.
   *
   * @throws IllegalStateException if dynamic allocation leaves an executor for {@code limit}
   */
  void sortOrphaned(Path input, Path output, int reduces, Duration limit)
      throws InterruptedException {
    JavaPairRDD<byte[], byte[]> shuffled = shuffle(input, reduces);
    shuffled.foreachPartition(rows -> {});
    awaitNoExecutors(limit);
    writeSorted(shuffled, output);
  }

  private void awaitNoExecutors(Duration limit) throws InterruptedException {
    long deadlineNs = System.nanoTime() + limit.toNanos();
    // The driver is one of them.
    while (spark.sc().getExecutorMemoryStatus().size() > 1) {
      if (System.nanoTime() - deadlineNs > 0) {
        throw new IllegalStateException(
            "executors are left after " + limit.toSeconds()
                + " s: set spark.dynamicAllocation.enabled=true, and an executorIdleTimeout below that");
      }
      Thread.sleep(100);
    }
  }

  private JavaPairRDD<byte[], byte[]> shuffle(Path input, int reduces) {
    JavaPairRDD<byte[], byte[]> rows = read(input);
    KeyRanges ranges = KeyRanges.ofSample(sampleKeys(rows), reduces);
    return rows.repartitionAndSortWithinPartitions(ranges, KeyOrder.INSTANCE);
  }

  private void writeSorted(JavaPairRDD<byte[], byte[]> rows, Path output) {
    write(rows.mapToPair(row -> new Tuple2<>(new Text(row._1()), new Text(row._2()))), output);
  }

  private JavaPairRDD<byte[], byte[]> read(Path input) {
    Configuration hadoop = new Configuration(spark.hadoopConfiguration());
    hadoop.set(FileInputFormat.INPUT_DIR, input.toString());
    hadoop.setLong(FileInputFormat.SPLIT_MINSIZE, Long.MAX_VALUE);
    return spark
        .newAPIHadoopRDD(hadoop, TeraInputFormat.class, Text.class, Text.class)
        .mapToPair(row -> new Tuple2<>(row._1().copyBytes(), row._2().copyBytes()));
  }

  private List<byte[]> sampleKeys(JavaPairRDD<byte[], byte[]> rows) {
    int stride = Math.max(1, rows.getNumPartitions() / SAMPLED_FILES);
    return rows.keys()
        .mapPartitionsWithIndex(
            (index, keys) -> {
              List<byte[]> sample = new ArrayList<>();
              while (index % stride == 0
                  && keys.hasNext()
                  && sample.size() < SAMPLED_ROWS_PER_FILE) {
                sample.add(keys.next());
              }
              return sample.iterator();
            },
            true)
        .collect();
  }

  private void write(JavaPairRDD<Text, Text> rows, Path directory) {
    rows.saveAsNewAPIHadoopFile(
        directory.toString(),
        Text.class,
        Text.class,
        TeraOutputFormat.class,
        new Configuration(spark.hadoopConfiguration()));
  }
}
