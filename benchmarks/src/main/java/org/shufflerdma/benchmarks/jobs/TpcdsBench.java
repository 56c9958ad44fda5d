/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.shufflerdma.benchmarks.report.ResultLog;
import org.shufflerdma.benchmarks.report.Run;

/**
 * Runs queries of TPC-DS in turns in an application of each side, such as Spark's own shuffle and the plugin. Each query of each round
 * is a line in the file of results for each side, and {@link #ALL} has the sums of a round. A query whose result is not that
 * of the other sides ends the benchmark.
 *
 * <p>Arguments: RESULTS COMMIT LOG APPLICATIONS ROUNDS SCALE QUERY,... NAME SIDE,... COMMAND...; the command starts a driver if {@code --driver
 * SIDE} and settings follow its first word. A round before the others warms the applications up.
 */
public final class TpcdsBench {
  private static final String ALL = "all";

  private final ResultLog results;
  private final Path log;
  private final int rounds;
  private final String scale;
  private final List<String> queries;
  private final String name;
  private final List<String> sides;
  private final List<String> command;
  private final Map<String, String> digests = new HashMap<>();

  private TpcdsBench(String[] arguments) throws IOException {
    results = ResultLog.open(Path.of(arguments[0]), arguments[1]);
    log = Path.of(arguments[2]);
    rounds = Integer.parseInt(arguments[4]);
    scale = arguments[5];
    queries = List.of(arguments[6].split(",", -1));
    name = arguments[7];
    sides = List.of(arguments[8].split(",", -1));
    command = List.of(arguments).subList(9, arguments.length);
  }

  public static void main(String[] arguments) throws IOException {
    TpcdsBench bench = new TpcdsBench(arguments);
    // What an application has begun and not brought to its end is left, and another one taken.
    for (int application = 0, complete = 0;
        complete < Integer.parseInt(arguments[3]);
        application++) {
      if (!bench.isBegun(application)) {
        bench.measure(application);
        complete++;
      } else if (bench.isComplete(application)) {
        complete++;
      }
    }
  }

  private String benchmark(int round) {
    return name + ", scale " + scale + (round == 0 ? ", warm-up" : ", warm");
  }

  private boolean isBegun(int application) {
    return results.has(
        benchmark(0), queries.get(0), application, 0, order(application, 0).get(0));
  }

  private boolean isComplete(int application) {
    return results.has(
        benchmark(rounds), ALL, application, Math.max(0, rounds - 1), last(application, rounds));
  }

  /** Each application begins with another side, as the first side of a first round may find the machine in another state. */
  private List<String> order(int application, int round) {
    return JobBench.order(sides, application + round);
  }

  private String last(int application, int round) {
    List<String> order = order(application, round);
    return order.get(order.size() - 1);
  }

  private void measure(int application) throws IOException {
    Map<String, Application> started = new LinkedHashMap<>();
    try {
      for (String side : sides) {
        started.put(side, Application.start(command, side, Map.of(), log));
      }
      for (int round = 0; round <= rounds; round++) {
        measure(application, round, started);
      }
    } finally {
      for (Application each : started.values()) {
        each.close();
      }
    }
  }

  private void measure(int application, int round, Map<String, Application> started)
      throws IOException {
    Map<String, Map<String, Double>> sums = new HashMap<>();
    List<String> order = order(application, round);
    for (String query : queries) {
      for (String side : order) {
        Map<String, Double> figures =
            run(application, round, query, side, Objects.requireNonNull(started.get(side)));
        figures.forEach((name, value) -> sums.computeIfAbsent(side, key -> new LinkedHashMap<>())
            .merge(name, value, Double::sum));
      }
      Collections.reverse(order);
    }
    for (String side : order(application, round)) {
      add(application, round, ALL, side, "", sums.getOrDefault(side, Map.of()), Map.of());
    }
  }

  private Map<String, Double> run(
      int application, int round, String query, String side, Application on) throws IOException {
    JsonNode answer = on.ask("query " + query + " " + scale);
    String digest = answer.get("digest").asText();
    String known = digests.computeIfAbsent(query, key -> digest);
    if (!known.equals(digest)) {
      throw new IOException(query + " has another result with " + side
          + " than before: the digest is " + digest + " instead of " + known);
    }
    if (side.equals(Run.PLUGIN)) {
      JobFigures.requireAllByRdma(answer);
    }
    Map<String, Double> figures = JobFigures.ofQuery(answer);
    add(
        application,
        round,
        query,
        side,
        digest,
        figures,
        Map.of("stages", answer.get("stages"), "settings", answer.get("settings")));
    System.err.printf(Locale.ROOT, "%s %d.%d %s: %s%n", query, application, round, side, figures);
    return figures;
  }

  private void add(
      int application,
      int round,
      String scenario,
      String side,
      String digest,
      Map<String, Double> figures,
      Map<String, ?> more)
      throws IOException {
    results.add(
        new Run(
            benchmark(round), scenario, application, Math.max(0, round - 1), side, digest, figures),
        more);
  }
}
