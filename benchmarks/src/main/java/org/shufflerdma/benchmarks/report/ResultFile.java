/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A file of results.
 *
 * @param machine where the runs were made, and of which commit
 * @param runs in the order in which they were made
 */
record ResultFile(Path path, Map<String, String> machine, List<Run> runs) {
  static ResultFile read(Path path) throws IOException {
    ObjectMapper mapper = new ObjectMapper();
    Map<String, String> machine = new LinkedHashMap<>();
    List<Run> runs = new ArrayList<>();
    for (String line : Files.readAllLines(path)) {
      JsonNode json = mapper.readTree(line);
      if (json.has("figures")) {
        runs.add(Run.of(json));
      } else if (machine.isEmpty()) {
        json.properties()
            .forEach(fact -> machine.put(fact.getKey(), fact.getValue().asText()));
      }
    }
    return new ResultFile(path, machine, runs);
  }

  /** The name without its ending. */
  String name() {
    return String.valueOf(path.getFileName()).replaceFirst("\\.jsonl$", "");
  }
}
