/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Adds a run that a script has measured to a file of results. */
final class RecordRun {
  /** Before the settings of the run. */
  private static final String SETTINGS = "--";

  private RecordRun() {}

  /** Takes FILE COMMIT BENCHMARK SCENARIO APPLICATION ROUND SIDE DIGEST FIGURE=VALUE... -- SETTING=VALUE... */
  public static void main(String[] arguments) throws IOException {
    List<String> given = Arrays.asList(arguments);
    int settings = given.indexOf(SETTINGS);
    Run run = new Run(
        given.get(2),
        given.get(3),
        Integer.parseInt(given.get(4)),
        Integer.parseInt(given.get(5)),
        given.get(6),
        given.get(7),
        values(given.subList(8, settings), Double::valueOf));
    ResultLog.open(Path.of(given.get(0)), given.get(1))
        .add(
            run,
            Map.of("settings", values(given.subList(settings + 1, given.size()), text -> text)));
  }

  private static <T> Map<String, T> values(List<String> assigned, Function<String, T> parse) {
    Map<String, T> values = new LinkedHashMap<>();
    for (String one : assigned) {
      int end = one.lastIndexOf('=');
      values.put(one.substring(0, end), parse.apply(one.substring(end + 1)));
    }
    return values;
  }
}
