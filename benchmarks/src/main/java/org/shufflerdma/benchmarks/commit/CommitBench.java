/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.commit;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.shufflerdma.benchmarks.commit.TimedShuffleManager.Task;
import org.shufflerdma.benchmarks.report.ResultLog;
import org.shufflerdma.benchmarks.report.Run;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.config.ChecksumMode;
import scala.Tuple2;

/**
 * Runs map tasks one after the other in a local application. In each round each kind of output is two
 * lines of the file of results: {@code stock} is what its tasks spent in Spark's writer, and {@code
 * rdma} is that with what the publication added.
 *
 * <p>Arguments: RESULTS COMMIT PARTITIONS,... KIB,... OUTPUTS ROUNDS APPLICATION; the last one is the number of this process among
 * those that measure.
 */
public final class CommitBench {
  private static final int MEBIBYTE = 1 << 20;
  private static final long MOST_BYTES = 512L * MEBIBYTE;
  private static final int END_MS = 20_000;

  private static final String STOCK = "stock";

  private final ResultLog results;
  private final int outputs;
  private final int application;
  private final JavaSparkContext spark;
  private final TimedShuffleManager manager;

  private CommitBench(String[] arguments, JavaSparkContext spark) throws IOException {
    results = ResultLog.open(Path.of(arguments[0]), arguments[1]);
    outputs = Integer.parseInt(arguments[4]);
    application = Integer.parseInt(arguments[6]);
    this.spark = spark;
    manager = (TimedShuffleManager) SparkEnv.get().shuffleManager();
  }

  public static void main(String[] arguments) throws Exception {
    try (JavaSparkContext spark = new JavaSparkContext()) {
      CommitBench bench = new CommitBench(arguments, spark);
      List<Integer> partitions = numbers(arguments[2]);
      List<Integer> kibibytes = numbers(arguments[3]);
      bench.measure("commit, cold", 0, new Kind(400, MEBIBYTE, ChecksumMode.AUTO));
      for (int round = 0; round < Integer.parseInt(arguments[5]); round++) {
        for (int some : partitions) {
          for (int kib : kibibytes) {
            bench.measure("commit", round, new Kind(some, kib << 10, ChecksumMode.AUTO));
            bench.measure("commit", round, new Kind(some, kib << 10, ChecksumMode.OWN));
          }
        }
      }
    }
  }

  /** Outputs of some partitions, with checksums that are Spark's or the plugin's own. */
  private record Kind(int partitions, int bytes, ChecksumMode checksums) {
    String label() {
      return "%d x %d KiB, %s checksums"
          .formatted(partitions, bytes >> 10, checksums == ChecksumMode.OWN ? "own" : "Spark's");
    }
  }

  static List<Integer> numbers(String list) {
    return Arrays.stream(list.split(",", -1)).map(Integer::valueOf).toList();
  }

  private void measure(String benchmark, int round, Kind kind)
      throws IOException, InterruptedException {
    if (results.has(benchmark, kind.label(), application, round, Run.PLUGIN)) {
      return;
    }
    int maps = (int) Math.max(4, Math.min(outputs, MOST_BYTES / kind.bytes()));
    manager.setChecksums(kind.checksums());
    long publishedBefore = manager.registry().published();
    long othersBefore = Cost.pluginThreadsNs();
    int shuffleId = write(maps, kind.partitions(), kind.bytes());
    List<Task> tasks = manager.takeTasks();
    if (manager.registry().published() != publishedBefore + maps || tasks.size() != maps) {
      throw new IllegalStateException("not all map outputs were published");
    }
    manager.unregisterShuffle(shuffleId);
    awaitEndOfOutputs();
    double others = (Cost.pluginThreadsNs() - othersBefore) / 1e3 / maps;
    add(benchmark, round, kind, STOCK, figures(tasks, Task::spark), tasks);
    Map<String, Double> figures = figures(tasks, task -> task.spark().plus(task.added()));
    figures(tasks, Task::added).forEach((name, value) -> figures.put("added " + name, value));
    figures.put("other threads' CPU per output, µs", others);
    add(benchmark, round, kind, Run.PLUGIN, figures, tasks);
  }

  private void add(
      String benchmark,
      int round,
      Kind kind,
      String side,
      Map<String, Double> figures,
      List<Task> tasks)
      throws IOException {
    results.add(
        new Run(benchmark, kind.label(), application, round, side, "", figures),
        Map.of("outputs", tasks.size()));
    System.err.printf("%s, %s %d %s: %s%n", benchmark, kind.label(), round, side, figures);
  }

  /**
   * Each map writes so many bytes, in records of at most a mebibyte. Returns the id of the shuffle,
   * which is not compressed.
   */
  private int write(int maps, int partitions, int bytes) {
    int perPartition = bytes / partitions;
    JavaPairRDD<Integer, byte[]> shuffled = spark
        .parallelize(IntStream.range(0, maps).boxed().toList(), maps)
        .flatMapToPair(map -> IntStream.range(0, partitions)
            .boxed()
            .flatMap(partition -> {
              int records = Math.max(1, perPartition / MEBIBYTE);
              Tuple2<Integer, byte[]> record =
                  new Tuple2<>(partition, new byte[perPartition / records]);
              return Stream.generate(() -> record).limit(records);
            })
            .iterator())
        .partitionBy(new HashPartitioner(partitions));
    shuffled.count();
    return ((ShuffleDependency<?, ?, ?>) shuffled.rdd().dependencies().head()).shuffleId();
  }

  /** Their end belongs to what they cost. */
  private void awaitEndOfOutputs() throws InterruptedException {
    Deadline deadline = Deadline.afterMs(END_MS);
    while (manager.registry().registeredBytes() > 0) {
      if (deadline.expired()) {
        throw new IllegalStateException("removed map outputs are still registered");
      }
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  /** Medians and means over the tasks, of which a few are slow because the JVM or the disk is busy. */
  private static Map<String, Double> figures(List<Task> tasks, Function<Task, Cost> cost) {
    double[] cpu =
        tasks.stream().map(cost).mapToDouble(one -> one.cpuNs() / 1e3).toArray();
    double[] wall =
        tasks.stream().map(cost).mapToDouble(one -> one.wallNs() / 1e3).toArray();
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put("CPU per output, median, µs", median(cpu));
    figures.put("CPU per output, mean, µs", Arrays.stream(cpu).average().orElseThrow());
    figures.put("time per output, median, µs", median(wall));
    figures.put("time per output, mean, µs", Arrays.stream(wall).average().orElseThrow());
    figures.put("first output's CPU, µs", cpu[0]);
    return figures;
  }

  static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }
}
