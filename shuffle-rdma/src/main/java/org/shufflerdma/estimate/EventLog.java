/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The files of one application's event log, in the order of their events: a single file, or those of a rolling log
 * (Spark's {@code RollingEventLogFilesWriter}).
 *
 * @param compacted whether Spark has dropped events of old jobs from the log
 */
record EventLog(List<Path> files, boolean compacted) {
  private static final Pattern ROLLED = Pattern.compile("events_(\\d{1,9})_.*?(\\.compact)?");

  private record Rolled(Path file, int index, boolean compacted) {}

  /** @throws RefusedException if the path names no event log */
  static EventLog at(String path) throws RefusedException, IOException {
    if (path.matches("[a-z][a-z0-9+.-]+://.*")) {
      throw new RefusedException(
          path + ": only local files are read; copy the log to this host first, such as with"
              + " hdfs dfs -get");
    }
    Path place = Path.of(path);
    if (Files.isRegularFile(place)) {
      return new EventLog(List.of(place), false);
    }
    if (!Files.isDirectory(place)) {
      throw new RefusedException(path
          + (Files.exists(place)
              ? ": this is neither a file nor a folder"
              : ": there is no such file; spark.eventLog.dir says where Spark writes event logs"));
    }
    List<Rolled> rolled = rolledFiles(place);
    if (rolled.isEmpty()) {
      throw new RefusedException(
          path + ": this folder has no files events_1_…; name the files of event logs, or folders"
              + " eventlog_v2_…");
    }
    // A compacted file replaces those up to its own index.
    int first =
        rolled.stream().filter(Rolled::compacted).mapToInt(Rolled::index).max().orElse(0);
    List<Path> files = rolled.stream()
        .filter(file -> file.index() > first || (file.index() == first && file.compacted()))
        .map(Rolled::file)
        .toList();
    return new EventLog(files, first > 0);
  }

  private static List<Rolled> rolledFiles(Path folder) throws IOException {
    List<Rolled> rolled = new ArrayList<>();
    try (Stream<Path> entries = Files.list(folder)) {
      for (Path entry : (Iterable<Path>) entries::iterator) {
        Matcher name = ROLLED.matcher(String.valueOf(entry.getFileName()));
        if (name.matches() && Files.isRegularFile(entry)) {
          rolled.add(new Rolled(entry, Integer.parseInt(name.group(1)), name.group(2) != null));
        }
      }
    }
    rolled.sort(Comparator.comparingInt(Rolled::index));
    return rolled;
  }
}
