/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Measures job shapes. For each of them two applications live side by side, Spark's own shuffle and
 * the plugin, and run the job in turns (stock, rdma, rdma, stock, ...), so that what else happens on
 * the machine meets both. One of them waits while the other works. Every job is a line in the file of
 * results; a pair that is in the file already is not run again.
 *
 * <p>Arguments: RESULTS COMMIT LOG PAIRS COLD ROWS SHAPE,... COMMAND...; the command starts a driver if
 * {@code --driver SIDE --compress BOOLEAN} follow it.
 */
public final class JobBench {
  private static final List<String> SIDES = List.of("stock", "rdma");
  private static final int WARM_UPS = 2;

  private final Path results;
  private final Path log;
  private final int pairs;
  private final int coldPairs;
  private final long rows;
  private final List<String> command;
  private final ObjectMapper json = new ObjectMapper();
  private final Set<String> done = new HashSet<>();

  private JobBench(String[] arguments) throws IOException {
    results = Path.of(arguments[0]);
    log = Path.of(arguments[2]);
    pairs = Integer.parseInt(arguments[3]);
    coldPairs = Integer.parseInt(arguments[4]);
    rows = Long.parseLong(arguments[5]);
    command = List.of(arguments).subList(7, arguments.length);
    if (Files.size(results) == 0) {
      append(Machine.describe(arguments[1]));
    }
    for (JobRun run : JobRun.ofFile(results)) {
      done.add(key(run.shape(), run.phase(), run.pair(), run.side()));
    }
  }

  public static void main(String[] arguments) throws IOException {
    JobBench bench = new JobBench(arguments);
    for (String label : arguments[6].split(",", -1)) {
      JobShape shape = JobShape.ofLabel(label);
      System.err.println(shape.description());
      bench.measureWarm(shape);
      bench.measureCold(shape);
    }
  }

  private void append(Object line) throws IOException {
    Files.writeString(results, json.writeValueAsString(line) + "\n", StandardOpenOption.APPEND);
  }

  private static String key(String shape, String phase, int pair, String side) {
    return shape + " " + phase + " " + pair + " " + side;
  }

  /** Pairs of jobs in two applications, whose first jobs are not counted but kept. */
  private void measureWarm(JobShape shape) throws IOException {
    List<Integer> missing = IntStream.range(0, pairs)
        .filter(pair ->
            !SIDES.stream().allMatch(side -> done.contains(key(shape.label(), "warm", pair, side))))
        .boxed()
        .toList();
    if (missing.isEmpty()) {
      return;
    }
    try (Application stock = start(shape, SIDES.get(0));
        Application rdma = start(shape, SIDES.get(1))) {
      for (int i = 0; i < WARM_UPS; i++) {
        runPair(shape, "warm-up", i, stock, rdma);
      }
      for (int pair : missing) {
        runPair(shape, "warm", pair, stock, rdma);
      }
    }
  }

  /** Pairs of first jobs of new applications, each alone on the machine. */
  private void measureCold(JobShape shape) throws IOException {
    for (int pair = 0; pair < coldPairs; pair++) {
      List<String> order = order(pair);
      for (String side : order) {
        if (!done.contains(key(shape.label(), "cold", pair, side))) {
          try (Application application = start(shape, side)) {
            run(shape, "cold", pair, side, application);
          }
        }
      }
    }
  }

  private Application start(JobShape shape, String side) throws IOException {
    List<String> words = new ArrayList<>(command);
    words.addAll(List.of("--driver", side, "--compress", Boolean.toString(shape.compressed())));
    return Application.start(words, log);
  }

  /** Every other pair begins with the other side. */
  private static List<String> order(int pair) {
    List<String> order = new ArrayList<>(SIDES);
    if (pair % 2 == 1) {
      Collections.reverse(order);
    }
    return order;
  }

  private void runPair(JobShape shape, String phase, int pair, Application stock, Application rdma)
      throws IOException {
    for (String side : order(pair)) {
      run(shape, phase, pair, side, side.equals(SIDES.get(0)) ? stock : rdma);
    }
  }

  private void run(JobShape shape, String phase, int pair, String side, Application application)
      throws IOException {
    ObjectNode run = json.createObjectNode();
    run.put("shape", shape.label());
    run.put("phase", phase);
    run.put("pair", pair);
    run.put("side", side);
    run.put("rows", rows);
    run.setAll((ObjectNode) application.run(shape, rows));
    append(run);
    System.err.printf(
        Locale.ROOT,
        "%s %s %d %s: %.2f s, CPU %.2f s%n",
        shape.label(),
        phase,
        pair,
        side,
        run.get("wall_s").asDouble(),
        run.get("executor_cpu_s").asDouble());
  }
}
