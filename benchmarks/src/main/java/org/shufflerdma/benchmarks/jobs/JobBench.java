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
import java.util.TreeMap;
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
 * <p>Arguments: RESULTS COMMIT LOG APPLICATIONS ROUNDS COLD ROWS SCENARIO,... NAME SIDE,... COMMAND...; NAME is that of the
 * benchmark, and the command starts a driver if {@code --driver SIDE} and settings follow its first
 * word. A scenario is a shape, or SHAPE/ROOM to let the plugin register no more than ROOM, such as 64m, on an executor.
 */
public final class JobBench {
  private static final int WARM_UPS = 2;

  /** @param label names it in the file of results */
  private record Scenario(String label, JobShape shape, Map<String, String> settings) {
    static Scenario ofLabel(String label) {
      String[] parts = label.split("/", 2);
      JobShape shape = JobShape.ofLabel(parts[0]);
      Map<String, String> settings = new TreeMap<>(shape.settings());
      if (parts.length > 1) {
        settings.put("spark.shuffle.rdma.maxRegisteredBytes", parts[1]);
      }
      return new Scenario(label, shape, settings);
    }
  }

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
      Scenario scenario = Scenario.ofLabel(label);
      System.err.println(scenario.shape().description());
      bench.measureWarm(scenario);
      bench.measureCold(scenario);
    }
  }

  private boolean isDone(Scenario scenario, String phase, int application, int round, String side) {
    return results.has(name + ", " + phase, scenario.label(), application, round, side);
  }

  /** Leaves what an application has done that did not come to its end, and takes another one. */
  private void measureWarm(Scenario scenario) throws IOException {
    int complete = 0;
    for (int application = 0; complete < applications; application++) {
      int number = application;
      long done = sides.stream()
          .mapToLong(side -> IntStream.range(0, rounds)
              .filter(round -> isDone(scenario, "warm", number, round, side))
              .count())
          .sum();
      if (done == 0) {
        measureWarm(scenario, number);
      }
      if (done == 0 || done == (long) sides.size() * rounds) {
        complete++;
      }
    }
  }

  /** Rounds of jobs in an application of each side, whose first jobs are not counted but kept. */
  private void measureWarm(Scenario scenario, int number) throws IOException {
    Map<String, Application> started = new LinkedHashMap<>();
    try {
      for (String side : sides) {
        started.put(side, start(scenario, side));
      }
      for (int i = 0; i < WARM_UPS; i++) {
        runRound(scenario, "warm-up", number, i, started);
      }
      for (int i = 0; i < rounds; i++) {
        runRound(scenario, "warm", number, i, started);
      }
    } finally {
      for (Application application : started.values()) {
        application.close();
      }
    }
  }

  /** Rounds of first jobs of new applications, each alone on the machine. */
  private void measureCold(Scenario scenario) throws IOException {
    for (int number = 0; number < coldRounds; number++) {
      for (String side : order(sides, number)) {
        if (!isDone(scenario, "cold", number, 0, side)) {
          try (Application application = start(scenario, side)) {
            run(scenario, "cold", number, 0, side, application);
          }
        }
      }
    }
  }

  private Application start(Scenario scenario, String side) throws IOException {
    return Application.start(command, side, scenario.settings(), log);
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
      Scenario scenario, String phase, int number, int round, Map<String, Application> started)
      throws IOException {
    for (String side : order(sides, round)) {
      run(scenario, phase, number, round, side, Objects.requireNonNull(started.get(side)));
    }
  }

  private void run(
      Scenario scenario, String phase, int number, int round, String side, Application application)
      throws IOException {
    JsonNode job = application.ask("job " + scenario.shape().label() + " " + rows);
    Map<String, Object> more = new LinkedHashMap<>(Map.of("rows", rows));
    job.properties().forEach(measured -> more.put(measured.getKey(), measured.getValue()));
    results.add(
        new Run(
            name + ", " + phase,
            scenario.label(),
            number,
            round,
            side,
            job.get("digest").asText(),
            JobFigures.of(job)),
        more);
    System.err.printf(
        Locale.ROOT,
        "%s %s %d.%d %s: %.2f s, CPU %.2f s%n",
        scenario.label(),
        phase,
        number,
        round,
        side,
        job.get("wall_s").asDouble(),
        job.get("executor_cpu_s").asDouble());
  }
}
