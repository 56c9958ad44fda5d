/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.statuses;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.SerializerInstance;
import org.shufflerdma.benchmarks.jobs.ApplicationSettings;
import org.shufflerdma.benchmarks.report.ResultLog;
import org.shufflerdma.benchmarks.report.Run;

/**
 * Takes all map statuses of a shuffle the way that Spark takes them, with and without the locations of the map outputs: from
 * task results into the driver's heap, from there into what a reader asks for, and from that into the reader's heap.
 *
 * <p>Arguments: RESULTS COMMIT MAPSxPARTITIONS,... ROUNDS APPLICATION; the last one is the number of this process
 * among those that measure. A round before the others warms it up.
 */
public final class StatusBench {
  private static final String STOCK = "stock";
  private static final String WARM = "statuses, warm";
  private static final int OWNERS = 32;

  private final ResultLog results;
  private final int rounds;
  private final int application;
  private final SparkConf conf;
  private final Map<String, String> settings;

  private StatusBench(String[] arguments, JavaSparkContext spark) throws IOException {
    results = ResultLog.open(Path.of(arguments[0]), arguments[1]);
    rounds = Integer.parseInt(arguments[3]);
    application = Integer.parseInt(arguments[4]);
    conf = SparkEnv.get().conf();
    settings = ApplicationSettings.of(spark);
  }

  public static void main(String[] arguments) throws Exception {
    try (JavaSparkContext spark = new JavaSparkContext()) {
      StatusBench bench = new StatusBench(arguments, spark);
      for (String kind : arguments[2].split(",", -1)) {
        int[] numbers =
            Arrays.stream(kind.split("x", -1)).mapToInt(Integer::parseInt).toArray();
        bench.measure("Java", new JavaSerializer(bench.conf).newInstance(), numbers[0], numbers[1]);
        bench.measure("Kryo", new KryoSerializer(bench.conf).newInstance(), numbers[0], numbers[1]);
      }
    }
  }

  /** @param serializer that of results, spark.serializer, by which statuses come to the driver */
  private void measure(String name, SerializerInstance serializer, int maps, int partitions)
      throws IOException {
    String scenario = "%d x %d, %s".formatted(maps, partitions, name);
    if (results.has(WARM, scenario, application, rounds - 1, Run.PLUGIN)) {
      return;
    }
    Map<String, List<ByteBuffer>> taskResults = taskResults(serializer, maps, partitions);
    StatusPath path = new StatusPath(conf, serializer, partitions);
    for (int round = 0; round <= rounds; round++) {
      String benchmark = round == 0 ? "statuses, warm-up" : WARM;
      int number = Math.max(0, round - 1);
      if (results.has(benchmark, scenario, application, number, Run.PLUGIN)) {
        continue;
      }
      Map<String, Map<String, Double>> figures = new HashMap<>();
      for (String side : round % 2 == 0 ? List.of(STOCK, Run.PLUGIN) : List.of(Run.PLUGIN, STOCK)) {
        figures.put(side, path.follow(of(side, taskResults), side.equals(Run.PLUGIN)));
      }
      for (String side : List.of(STOCK, Run.PLUGIN)) {
        results.add(
            new Run(benchmark, scenario, application, number, side, "", of(side, figures)),
            Map.of("settings", settings));
      }
      show("%s, %s %d.%d".formatted(benchmark, scenario, application, number), figures);
    }
  }

  /** Prints what Spark's statuses take, and what their locations add to it. */
  private static void show(String run, Map<String, Map<String, Double>> figures) {
    List<String> shown = new ArrayList<>();
    of(STOCK, figures).forEach((name, figure) -> {
      double added = of(name, of(Run.PLUGIN, figures)) - figure;
      shown.add(String.format(Locale.ROOT, "%s %.2f %+.2f", name, figure, added));
    });
    System.out.println(run + ": " + String.join("; ", shown));
  }

  private static <T> T of(String name, Map<String, T> values) {
    return Objects.requireNonNull(values.get(name));
  }

  /** Returns what the tasks of each side return, in the order of the maps. */
  private static Map<String, List<ByteBuffer>> taskResults(
      SerializerInstance serializer, int maps, int partitions) {
    List<Owner> owners = IntStream.range(0, OWNERS).mapToObj(Owner::new).toList();
    List<ByteBuffer> stock = new ArrayList<>();
    List<ByteBuffer> plugin = new ArrayList<>();
    SplittableRandom random = new SplittableRandom(1);
    for (int map = 0; map < maps; map++) {
      Owner owner = owners.get(random.nextInt(OWNERS));
      long[] lengths = owner.nextLengths(partitions);
      stock.add(serializer.serialize(owner.status(lengths, map), StatusPath.STATUS));
      plugin.add(serializer.serialize(owner.statusWithLocation(lengths, map), StatusPath.STATUS));
    }
    return Map.of(STOCK, stock, Run.PLUGIN, plugin);
  }
}
