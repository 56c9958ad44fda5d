/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Reads files of /proc and /sys. */
final class Proc {
  private static final String UNKNOWN = "unknown";

  private Proc() {}

  /** Returns the file's text without surrounding white space; "unknown" if it cannot be read. */
  static String text(Path file) {
    try {
      String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8).trim();
      return text.isEmpty() ? UNKNOWN : text;
    } catch (IOException e) {
      return UNKNOWN;
    }
  }

  /** Returns the same, but what a person reads where it cannot be read. */
  static String readable(Path file) {
    String text = text(file);
    return UNKNOWN.equals(text) ? "not readable" : text;
  }

  /** Returns the number after {@code key} and a colon; -1 if there is none. */
  static long number(Path file, String key) throws IOException {
    String value = value(new String(Files.readAllBytes(file), StandardCharsets.UTF_8), key);
    return UNKNOWN.equals(value) ? -1 : Long.parseLong(value.replaceAll("[^0-9]", ""));
  }

  /** Returns what comes after {@code key} and a colon in a file; "unknown" if nothing does. */
  static String value(Path file, String key) {
    return value(text(file), key);
  }

  private static String value(String text, String key) {
    for (String line : text.split("\n", -1)) {
      if (line.startsWith(key + ":")) {
        return line.substring(key.length() + 1).trim();
      }
    }
    return UNKNOWN;
  }

  /** Returns the names in a directory in alphabetical order; none if it cannot be read. */
  static List<String> names(Path directory) {
    try (Stream<Path> entries = Files.list(directory)) {
      return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
    } catch (IOException e) {
      return List.of();
    }
  }

  /** Returns the last name of the path that a link points to; "none" if there is no such link. */
  static String target(Path link) {
    try {
      Path name = link.toRealPath().getFileName();
      return name == null ? UNKNOWN : name.toString();
    } catch (IOException e) {
      return "none";
    }
  }
}
