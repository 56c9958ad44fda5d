/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import org.shufflerdma.benchmarks.report.ResultLog;
import org.shufflerdma.benchmarks.report.Run;

/**
 * Measures job shapes. For each of them an application of each side lives beside the others and runs
 * the job in turns, there and back again, so that what else happens on the machine meets all of them.
 * That is done with several applications of each side, because how the JVMs of an application compile
 * the job differs from one to the next:
 * {@code stock} is Spark's own shuffle with the plugin's settings, {@code stock-local} the same with
 * Spark's default, by which an executor reads the files of others on its host itself, and {@code
 * rdma} the plugin. The others wait while one works. Every job is a line in the file of results; a
 * round that is in the file already is not run again.
 *
 * <p>Arguments: RESULTS COMMIT LOG APPLICATIONS ROUNDS COLD ROWS SHAPE,... NAME SIDE,... COMMAND...; NAME is that of the
 * benchmark, and the command starts a driver if {@code --driver SIDE} and settings follow its first
 * word.
 */
public final class JobBench {
  private static final int WARM_UPS = 2;

  private final ResultLog results;
  private final Path log;
  private final int applications;
  private final int rounds;
  private final int coldRounds;
  private final long rows;
  private final String name;
  private final List<String> sides;
  private final List<String> command;

  private JobBench(String[] arguments) throws IOException {
    results = ResultLog.open(Path.of(arguments[0]), arguments[1]);
    log = Path.of(arguments[2]);
    applications = Integer.parseInt(arguments[3]);
    rounds = Integer.parseInt(arguments[4]);
    coldRounds = Integer.parseInt(arguments[5]);
    rows = Long.parseLong(arguments[6]);
    name = arguments[8];
    sides = List.of(arguments[9].split(",", -1));
    command = List.of(arguments).subList(10, arguments.length);
  }

  public static void main(String[] arguments) throws IOException {
    JobBench bench = new JobBench(arguments);
    for (String label : arguments[7].split(",", -1)) {
      JobShape shape = JobShape.ofLabel(label);
      System.err.println(shape.description());
      bench.measureWarm(shape);
      bench.measureCold(shape);
    }
  }

  private boolean isDone(JobShape shape, String phase, int application, int round, String side) {
    return results.has(name + ", " + phase, shape.label(), application, round, side);
  }

  /** Leaves what an application has done that did not come to its end, and takes another one. */
  private void measureWarm(JobShape shape) throws IOException {
    int complete = 0;
    for (int application = 0; complete < applications; application++) {
      int number = application;
      long done = sides.stream()
          .mapToLong(side -> IntStream.range(0, rounds)
              .filter(round -> isDone(shape, "warm", number, round, side))
              .count())
          .sum();
      if (done == 0) {
        measureWarm(shape, number);
      }
      if (done == 0 || done == (long) sides.size() * rounds) {
        complete++;
      }
    }
  }

  /** Rounds of jobs in an application of each side, whose first jobs are not counted but kept. */
  private void measureWarm(JobShape shape, int number) throws IOException {
    Map<String, Application> started = new LinkedHashMap<>();
    try {
      for (String side : sides) {
        started.put(side, start(shape, side));
      }
      for (int i = 0; i < WARM_UPS; i++) {
        runRound(shape, "warm-up", number, i, started);
      }
      for (int i = 0; i < rounds; i++) {
        runRound(shape, "warm", number, i, started);
      }
    } finally {
      for (Application application : started.values()) {
        application.close();
      }
    }
  }

  /** Rounds of first jobs of new applications, each alone on the machine. */
  private void measureCold(JobShape shape) throws IOException {
    for (int number = 0; number < coldRounds; number++) {
      for (String side : order(sides, number)) {
        if (!isDone(shape, "cold", number, 0, side)) {
          try (Application application = start(shape, side)) {
            run(shape, "cold", number, 0, side, application);
          }
        }
      }
    }
  }

  private Application start(JobShape shape, String side) throws IOException {
    return Application.start(command, side, shape.settings(), log);
  }

  /** Every other round goes backwards. */
  static List<String> order(List<String> sides, int round) {
    List<String> order = new ArrayList<>(sides);
    if (round % 2 == 1) {
      Collections.reverse(order);
    }
    return order;
  }

  private void runRound(
      JobShape shape, String phase, int number, int round, Map<String, Application> started)
      throws IOException {
    for (String side : order(sides, round)) {
      run(shape, phase, number, round, side, Objects.requireNonNull(started.get(side)));
    }
  }

  private void run(
      JobShape shape, String phase, int number, int round, String side, Application application)
      throws IOException {
    JsonNode job = application.ask("job " + shape.label() + " " + rows);
    Map<String, Object> more = new LinkedHashMap<>(Map.of("rows", rows));
    job.properties().forEach(measured -> more.put(measured.getKey(), measured.getValue()));
    results.add(
        new Run(
            name + ", " + phase,
            shape.label(),
            number,
            round,
            side,
            job.get("digest").asText(),
            JobFigures.of(job)),
        more);
    System.err.printf(
        Locale.ROOT,
        "%s %s %d.%d %s: %.2f s, CPU %.2f s%n",
        shape.label(),
        phase,
        number,
        round,
        side,
        job.get("wall_s").asDouble(),
        job.get("executor_cpu_s").asDouble());
  }
}
