/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shufflerdma.benchmarks.report.ResultLog;
import org.shufflerdma.benchmarks.report.Run;

/**
 * Measures what the plugin adds to the start of an application and to its first job. Each round starts
 * an application of each side, one after the other, and takes the steps of {@link FirstSteps} in it.
 *
 * <p>Arguments: RESULTS COMMIT LOG ROUNDS ROWS COMMAND...; the command starts a driver if {@code --driver
 * SIDE} and settings follow its first word.
 */
public final class StartBench {
  private static final String BENCHMARK = "start";

  private StartBench() {}

  public static void main(String[] arguments) throws IOException {
    ResultLog results = ResultLog.open(Path.of(arguments[0]), arguments[1]);
    List<String> command = List.of(arguments).subList(5, arguments.length);
    JobShape shape = JobShape.MOVE_FEW;
    List<String> sides = new ArrayList<>(List.of("stock", Run.PLUGIN));
    for (int round = 0; round < Integer.parseInt(arguments[3]); round++) {
      for (String side : sides) {
        if (results.has(BENCHMARK, shape.label(), round, 0, side)) {
          continue;
        }
        try (Application application =
            Application.start(command, side, shape.settings(), Path.of(arguments[2]))) {
          JsonNode taken = application.ask("start " + shape.label() + " " + arguments[4]);
          Run run = new Run(
              BENCHMARK,
              shape.label(),
              round,
              0,
              side,
              taken.get("digest").asText(),
              figures(side, taken));
          results.add(
              run, Map.of("executors", taken.get("executors"), "settings", taken.get("settings")));
          System.err.printf(Locale.ROOT, "start %d %s: %s%n", round, side, run.figures());
        }
      }
      Collections.reverse(sides);
    }
  }

  private static Map<String, Double> figures(String side, JsonNode taken) throws IOException {
    Map<String, Double> figures = Run.figures(taken);
    for (JsonNode executor : taken.get("executors")) {
      if (side.equals(Run.PLUGIN) && executor.get("start_cpu_ms").isEmpty()) {
        throw new IOException("an executor's log does not say how long the plugin's start took;"
            + " let org.shufflerdma log at level info");
      }
      figures.merge("executors' classes", executor.get("classes").asDouble(), Double::sum);
      executor
          .get("start_cpu_ms")
          .properties()
          .forEach(phase -> figures.merge(
              "plugin's start, " + phase.getKey() + ", CPU ms",
              phase.getValue().asDouble(),
              Double::sum));
    }
    return figures;
  }
}
