/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.shufflerdma.benchmarks.report.ResultLog;
import org.shufflerdma.benchmarks.report.Run;

/**
 * Measures the memory that executors have with and without the plugin. Each round starts an
 * application of each side, one after the other, and takes {@link MemorySteps} in it.
 *
 * <p>Arguments: RESULTS COMMIT LOG ROUNDS ROWS MAPSxREDUCES,... COMMAND...; the command starts a driver if
 * {@code --driver SIDE} and settings follow its first word.
 */
public final class MemoryBench {
  private static final String BENCHMARK = "memory";
  private static final Map<String, String> SETTINGS = Map.of("spark.shuffle.compress", "false");
  private static final String REGISTERED = "published: registered, MiB";

  private MemoryBench() {}

  public static void main(String[] arguments) throws IOException {
    ResultLog results = ResultLog.open(Path.of(arguments[0]), arguments[1]);
    List<String> command = List.of(arguments).subList(6, arguments.length);
    List<String> sides = new ArrayList<>(List.of("stock", Run.PLUGIN));
    for (String scenario : arguments[5].split(",", -1)) {
      for (int round = 0; round < Integer.parseInt(arguments[3]); round++) {
        for (String side : sides) {
          if (results.has(BENCHMARK, scenario, round, 0, side)) {
            continue;
          }
          try (Application application =
              Application.start(command, side, SETTINGS, Path.of(arguments[2]))) {
            JsonNode taken =
                application.ask("memory " + scenario.replace('x', ' ') + " " + arguments[4]);
            Map<String, Double> figures = Run.figures(taken);
            if (figures.getOrDefault(REGISTERED, 0.0) > 0 != side.equals(Run.PLUGIN)) {
              throw new IOException(side + " has registered " + figures.get(REGISTERED) + " MiB");
            }
            results.add(
                new Run(BENCHMARK, scenario, round, 0, side, taken.get("digest").asText(), figures),
                Map.of("written_bytes", taken.get("written"), "settings", taken.get("settings")));
            System.err.println(scenario + " " + round + " " + side + ": " + figures);
          }
        }
        Collections.reverse(sides);
      }
    }
  }
}
