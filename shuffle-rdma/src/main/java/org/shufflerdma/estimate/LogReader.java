/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads an event log into an {@link Application}, and notes what kept it from reading all of it. One thread uses it. It holds
 * one line at a time, of bounded length.
 */
final class LogReader {
  private static final int MOST_LINE_BYTES = 16 << 20;

  private final Application application = new Application();
  private final Events events = new Events(application);
  private final List<String> notes = new ArrayList<>();
  private long lines;
  private long understood;
  private long tooLong;
  private boolean cut;

  private LogReader() {}

  /**
   * What was read.
   *
   * @param notes sentences on what is missing, for people
   */
  record Result(Application application, List<String> notes) {}

  /** @throws RefusedException if there is no event of Spark in the log */
  static Result read(String path) throws RefusedException, IOException {
    EventLog log = EventLog.at(path);
    LogReader reader = new LogReader();
    for (Path file : log.files()) {
      reader.file(file);
    }
    if (reader.understood == 0) {
      throw new RefusedException(path + ": no event of Spark is in it"
          + (reader.notes.isEmpty()
              ? "; is it an event log?"
              : ". " + String.join(" ", reader.notes)));
    }
    reader.note(log.compacted());
    return new Result(reader.application, reader.notes);
  }

  private void file(Path file) throws IOException, RefusedException {
    try (InputStream in = Codec.open(file)) {
      Lines each = new Lines(in, MOST_LINE_BYTES);
      try {
        while (each.next()) {
          line(each);
        }
      } catch (IOException e) {
        notes.add("Reading of %s ended after %s lines: %s."
            .formatted(
                file.getFileName(),
                Units.count(lines),
                e.getMessage() == null ? "it is cut" : e.getMessage()));
      }
    }
  }

  private void line(Lines line) throws IOException {
    lines++;
    if (line.isTooLong()) {
      tooLong++;
    } else if (events.add(line.bytes(), line.length())) {
      understood++;
    } else if (line.hasEnd()) {
      application.ignore();
    } else {
      cut = true;
    }
  }

  private void note(boolean compacted) {
    if (!application.ended()) {
      notes.add(
          "The log has no end of the application, which runs still or has died: the estimate is on what there is.");
    }
    if (cut) {
      notes.add("The log ends within an event.");
    }
    if (compacted) {
      notes.add("Spark has compacted the log: jobs that it has dropped are missing here.");
    }
    if (tooLong > 0) {
      notes.add("%s of more than %d MiB not read."
          .formatted(Units.count(tooLong, "event"), MOST_LINE_BYTES >> 20));
    }
    if (application.ignored() > 0) {
      notes.add(
          "%s of %s lines were ignored, as they are no events or have values that Spark does not write."
              .formatted(Units.count(application.ignored()), Units.count(lines)));
    }
  }
}
