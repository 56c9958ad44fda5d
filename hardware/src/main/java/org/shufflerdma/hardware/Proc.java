/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

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

  /** Returns the number after {@code key} and a colon; -1 if there is none. */
  static long number(Path file, String key) throws IOException {
    for (String line :
        new String(Files.readAllBytes(file), StandardCharsets.UTF_8).split("\n", -1)) {
      if (line.startsWith(key + ":")) {
        return Long.parseLong(line.substring(key.length() + 1).replaceAll("[^0-9]", ""));
      }
    }
    return -1;
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
