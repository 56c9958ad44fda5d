/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.commit;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.shufflerdma.benchmarks.commit.ChosenWriters.Writer;
import org.shufflerdma.benchmarks.jobs.ApplicationSettings;
import org.shufflerdma.benchmarks.report.ResultLog;
import org.shufflerdma.benchmarks.report.Run;

/**
 * Runs the map tasks of SQL's shuffles one after the other in a local application. In each round each kind of output is a line
 * of the file of results for each {@link Writer}, with what its tasks spent in it.
 *
 * <p>Arguments: RESULTS COMMIT PARTITIONS,... KIB,... OUTPUTS ROUNDS APPLICATION; the last one is the number of this process
 * among those that measure. A round before the others warms it up.
 */
public final class WriteBench {
  private static final long MOST_BYTES = 64L << 20;
  private static final int FEWEST_OUTPUTS = 8;

  private final ResultLog results;
  private final int outputs;
  private final int application;
  private final JavaSparkContext spark;
  private final ChosenWriters writers;

  private WriteBench(String[] arguments, JavaSparkContext spark) throws IOException {
    results = ResultLog.open(Path.of(arguments[0]), arguments[1]);
    outputs = Integer.parseInt(arguments[4]);
    application = Integer.parseInt(arguments[6]);
    this.spark = spark;
    writers = (ChosenWriters) SparkEnv.get().shuffleManager();
  }

  public static void main(String[] arguments) throws Exception {
    try (JavaSparkContext spark = new JavaSparkContext()) {
      WriteBench bench = new WriteBench(arguments, spark);
      for (int round = 0; round <= Integer.parseInt(arguments[5]); round++) {
        for (RowKind rows : RowKind.values()) {
          for (int partitions : CommitBench.numbers(arguments[2])) {
            for (int kib : CommitBench.numbers(arguments[3])) {
              bench.measure(round, rows, partitions, kib);
            }
          }
        }
      }
    }
  }

  private void measure(int round, RowKind rows, int partitions, int kib)
      throws IOException, SparkException {
    List<Writer> order = new ArrayList<>(List.of(Writer.values()));
    if (round % 2 == 1) {
      Collections.reverse(order);
    }
    for (Writer writer : order) {
      String label = "%d x %d KiB, %s".formatted(partitions, kib, rows.label());
      String benchmark = round == 0 ? "write, warm-up" : "write, warm";
      int number = Math.max(0, round - 1);
      if (!results.has(benchmark, label, application, number, writer.side())) {
        writers.setWriter(writer);
        Map<String, Double> figures = write(rows, partitions, (long) kib << 10);
        results.add(
            new Run(benchmark, label, application, number, writer.side(), "", figures),
            Map.of("settings", ApplicationSettings.of(spark)));
      }
    }
  }

  /** Writes map outputs of rows that have so many bytes in memory, and removes them. */
  private Map<String, Double> write(RowKind rows, int partitions, long bytes)
      throws SparkException {
    int maps = (int) Math.max(FEWEST_OUTPUTS, Math.min(outputs, MOST_BYTES / bytes));
    int count = rows.rowsOf(bytes);
    JavaPairRDD<Integer, UnsafeRow> shuffled = spark
        .parallelize(IntStream.range(0, maps).boxed().toList(), maps)
        .mapPartitionsToPair(map -> rows.take(map.next(), count, partitions))
        .partitionBy(new HashPartitioner(partitions));
    ((ShuffledRDD<?, ?, ?>) shuffled.rdd())
        .setSerializer(new UnsafeRowSerializer(rows.columns, null));
    ShuffleDependency<?, ?, ?> shuffle =
        (ShuffleDependency<?, ?, ?>) shuffled.rdd().dependencies().head();
    long before = processCpuNs();
    spark.sc().submitMapStage(shuffle).get();
    double process = (processCpuNs() - before) / 1e3 / maps;
    List<Cost> tasks = writers.takeTasks();
    if (tasks.size() != maps) {
      throw new IllegalStateException(tasks.size() + " tasks have written instead of " + maps);
    }
    shuffled.rdd().cleanShuffleDependencies(true);
    return Map.of(
        "time per output, µs", median(tasks, Cost::wallNs),
        "CPU per output, µs", median(tasks, Cost::cpuNs),
        "CPU of the process per output, µs", process);
  }

  private static long processCpuNs() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  private static double median(List<Cost> tasks, ToLongFunction<Cost> figure) {
    return CommitBench.median(
        tasks.stream().mapToDouble(task -> figure.applyAsLong(task) / 1e3).toArray());
  }
}
