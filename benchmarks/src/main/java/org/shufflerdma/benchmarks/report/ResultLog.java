/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * A file of results that a benchmark adds to. It knows the runs that were in it before. Each line says
 * where and on what the run was made, so that lines of several files can be put together.
 */
public final class ResultLog {
  private final Path path;
  private final Map<String, Object> machine;
  private final Set<String> done = new HashSet<>();
  private final ObjectMapper json = new ObjectMapper();

  private ResultLog(Path path, Map<String, Object> machine) {
    this.path = path;
    this.machine = machine;
  }

  /** Opens a file, which need not exist. */
  public static ResultLog open(Path path, String commit) throws IOException {
    ResultLog log = new ResultLog(path, Machine.describe(commit));
    if (Files.exists(path)) {
      ResultFile.read(path).runs().forEach(run -> log.done.add(run.key()));
    }
    return log;
  }

  public boolean has(String benchmark, String scenario, int application, int round, String side) {
    return done.contains(
        new Run(benchmark, scenario, application, round, side, "", Map.of()).key());
  }

  /** Whether there is a run of any scenario. */
  public boolean hasApplication(String benchmark, int application, String side) {
    return done.stream()
        .anyMatch(key ->
            key.startsWith(benchmark + "/") && key.endsWith("/" + application + "/0/" + side));
  }

  /**
   * Adds a run.
   *
   * @param more what the line has besides, for readers of the file
   */
  public void add(Run run, Map<String, ?> more) throws IOException {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("benchmark", run.benchmark());
    line.put("scenario", run.scenario());
    line.put("application", run.application());
    line.put("round", run.round());
    line.put("side", run.side());
    line.put("digest", run.digest());
    line.put("figures", run.figures());
    line.putAll(more);
    line.put("machine", machine);
    Files.writeString(
        path,
        json.writeValueAsString(line) + "\n",
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
  }
}
