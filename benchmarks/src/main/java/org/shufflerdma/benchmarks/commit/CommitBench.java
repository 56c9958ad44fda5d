/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.commit;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.shufflerdma.benchmarks.commit.TimedShuffleManager.Task;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.config.ChecksumMode;
import scala.Tuple2;

/**
 * Runs map tasks one after the other in a local application, and writes a line of JSON for each kind
 * of output: what its publication added to a task, beside what the task spent in Spark's writer.
 *
 * <p>Arguments: RESULTS COMMIT PARTITIONS,... KIB,... OUTPUTS
 */
public final class CommitBench {
  private static final int MEBIBYTE = 1 << 20;
  private static final long MOST_BYTES = 512L * MEBIBYTE;
  private static final int END_MS = 20_000;

  private final Path results;
  private final String commit;
  private final int outputs;
  private final JavaSparkContext spark;
  private final TimedShuffleManager manager;
  private final ObjectMapper json = new ObjectMapper();

  private CommitBench(String[] arguments, JavaSparkContext spark) {
    results = Path.of(arguments[0]);
    commit = arguments[1];
    outputs = Integer.parseInt(arguments[4]);
    this.spark = spark;
    manager = (TimedShuffleManager) SparkEnv.get().shuffleManager();
  }

  public static void main(String[] arguments) throws Exception {
    try (JavaSparkContext spark = new JavaSparkContext()) {
      CommitBench bench = new CommitBench(arguments, spark);
      List<Integer> partitions = numbers(arguments[2]);
      List<Integer> kibibytes = numbers(arguments[3]);
      bench.measure("cold", 400, MEBIBYTE, ChecksumMode.AUTO);
      for (int some : partitions) {
        for (int kib : kibibytes) {
          bench.measure("warm", some, kib << 10, ChecksumMode.AUTO);
          bench.measure("warm", some, kib << 10, ChecksumMode.OWN);
        }
      }
    }
  }

  private static List<Integer> numbers(String list) {
    return Arrays.stream(list.split(",", -1)).map(Integer::valueOf).toList();
  }

  private void measure(String phase, int partitions, int bytes, ChecksumMode checksums)
      throws IOException, InterruptedException {
    int maps = (int) Math.max(4, Math.min(outputs, MOST_BYTES / bytes));
    manager.setChecksums(checksums);
    long publishedBefore = manager.registry().published();
    long othersBefore = Cost.pluginThreadsNs();
    int shuffleId = write(maps, partitions, bytes);
    List<Task> tasks = manager.takeTasks();
    if (manager.registry().published() != publishedBefore + maps) {
      throw new IllegalStateException("not all map outputs were published");
    }
    manager.unregisterShuffle(shuffleId);
    awaitEndOfOutputs();
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("commit", commit);
    line.put("phase", phase);
    line.put("partitions", partitions);
    line.put("bytes", bytes);
    line.put("checksums", checksums == ChecksumMode.AUTO ? "spark" : "own");
    line.put("outputs", maps);
    line.put("added_cpu_us", micros(tasks, task -> task.added().cpuNs()));
    line.put("added_wall_us", micros(tasks, task -> task.added().wallNs()));
    line.put("spark_cpu_us", micros(tasks, task -> task.spark().cpuNs()));
    line.put("spark_wall_us", micros(tasks, task -> task.spark().wallNs()));
    line.put("other_threads_cpu_us", (Cost.pluginThreadsNs() - othersBefore) / 1e3 / maps);
    String text = json.writeValueAsString(line);
    Files.writeString(results, text + "\n", StandardOpenOption.APPEND);
    System.err.println(text);
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

  /** The first of the tasks, their mean, and quantiles of them. */
  private static Map<String, Double> micros(List<Task> tasks, ToLongFunction<Task> figure) {
    long[] sorted = tasks.stream().mapToLong(figure).sorted().toArray();
    Map<String, Double> micros = new LinkedHashMap<>();
    micros.put("first", figure.applyAsLong(tasks.get(0)) / 1e3);
    micros.put("mean", tasks.stream().mapToLong(figure).average().orElseThrow() / 1e3);
    micros.put("median", sorted[sorted.length / 2] / 1e3);
    micros.put("p90", sorted[sorted.length * 9 / 10] / 1e3);
    return micros;
  }
}
