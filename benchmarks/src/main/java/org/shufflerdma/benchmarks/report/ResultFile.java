/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.GZIPInputStream;

/**
 * A file of results, which may be compressed ({@code .jsonl.gz}).
 *
 * @param machine where the runs were made, and of which commit: one for all of them
 * @param settings what had the same value in all lines that name it, by benchmark
 * @param runs in the order in which they were made
 */
record ResultFile(
    Path path,
    Map<String, String> machine,
    Map<String, Map<String, String>> settings,
    List<Run> runs) {
  private static final String DIFFERENT = "differs";

  static ResultFile read(Path path) throws IOException {
    ObjectMapper mapper = new ObjectMapper();
    Map<String, String> machine = new LinkedHashMap<>();
    Map<String, Map<String, String>> settings = new TreeMap<>();
    List<Run> runs = new ArrayList<>();
    for (String line : lines(path)) {
      JsonNode json = mapper.readTree(line);
      Run run = Run.of(json);
      runs.add(run);
      Map<String, String> where = texts(json.path("machine"));
      if (machine.isEmpty()) {
        machine.putAll(where);
      } else if (!machine.equals(where)) {
        throw new IllegalArgumentException(path
            + " has runs of two machines or commits, "
            + machine + " and " + where + ": give each a file of its own");
      }
      Map<String, String> known = settings.computeIfAbsent(run.benchmark(), key -> new TreeMap<>());
      texts(json.path("settings"))
          .forEach((key, value) ->
              known.merge(key, value, (one, other) -> one.equals(other) ? one : DIFFERENT));
    }
    settings.values().forEach(each -> each.values().removeIf(DIFFERENT::equals));
    return new ResultFile(path, machine, settings, runs);
  }

  private static List<String> lines(Path path) throws IOException {
    if (!path.toString().endsWith(".gz")) {
      return Files.readAllLines(path);
    }
    try (BufferedReader reader = new BufferedReader(new InputStreamReader(
        new GZIPInputStream(Files.newInputStream(path)), StandardCharsets.UTF_8))) {
      return reader.lines().toList();
    }
  }

  private static Map<String, String> texts(JsonNode node) {
    Map<String, String> texts = new LinkedHashMap<>();
    node.properties().forEach(each -> texts.put(each.getKey(), each.getValue().asText()));
    return texts;
  }

  /** The name without its ending. */
  String name() {
    return String.valueOf(path.getFileName()).replaceFirst("\\.jsonl(\\.gz)?$", "");
  }
}
