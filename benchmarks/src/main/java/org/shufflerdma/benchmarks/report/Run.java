/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One run. What else its line has is for readers of the file.
 *
 * @param benchmark what was measured, for example {@code jobs, warm}
 * @param scenario what it was measured with, such as the shape of a job or the size of a block
 * @param application the application or other set of processes that made it, the first of its side is
 *     0
 * @param round runs of one round of applications with the same number were made one after the other,
 *     and are compared
 * @param side who did the work; {@link #PLUGIN} is what the others are compared with
 * @param digest of the result, which must be the same for all sides of a scenario
 * @param figures the measured numbers. Less is better, unless the name of a figure ends with {@code
 *     /s}
 */
public record Run(
    String benchmark,
    String scenario,
    int application,
    int round,
    String side,
    String digest,
    Map<String, Double> figures) {
  public static final String PLUGIN = "rdma";

  /** The figures of a line, which the caller may change. */
  public static Map<String, Double> figures(JsonNode line) {
    Map<String, Double> figures = new LinkedHashMap<>();
    line.get("figures")
        .properties()
        .forEach(figure -> figures.put(figure.getKey(), figure.getValue().asDouble()));
    return figures;
  }

  static Run of(JsonNode line) {
    return new Run(
        line.get("benchmark").asText(),
        line.get("scenario").asText(),
        line.get("application").asInt(),
        line.get("round").asInt(),
        line.get("side").asText(),
        line.path("digest").asText(),
        figures(line));
  }

  /** What tells the run from all others of its file. */
  String key() {
    return String.join(
        "/", benchmark, scenario, Integer.toString(application), Integer.toString(round), side);
  }
}
