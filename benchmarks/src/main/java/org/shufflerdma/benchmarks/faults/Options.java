/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What bin/faults was asked for; the script has checked the values.
 *
 * @param counts how many of each kind
 * @param number the only number to run, of the only kind; null for all
 * @param minutes after which no further number begins; 0 is without end
 * @param controls a folder of its own for the control sockets of the devices
 * @param nodeServiceJar with which the node service is started
 * @param sources hash of the code that the figures are about
 * @param settings that were given beside the usual ones; Spark has them already
 * @param again what bin/faults must be given, beside kind, seed and number, to do a number again
 */
record Options(
    Map<Kind, Long> counts,
    long seed,
    @Nullable Long number,
    long minutes,
    @Nullable Path resume,
    Path directory,
    Path controls,
    long records,
    Path nodeServiceJar,
    String sources,
    String settings,
    String again) {

  enum Kind {
    FAULTS,
    ORPHAN,
    TERASORT,
    CANCEL,
    LEAK;

    String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  static Options parse(String[] arguments) {
    Map<String, String> values = new HashMap<>();
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      values.put(arguments[i], arguments[i + 1]);
    }
    Map<Kind, Long> counts = new HashMap<>();
    for (Kind kind : Kind.values()) {
      counts.put(kind, Long.parseLong(take(values, "--" + kind.label())));
    }
    String number = take(values, "--number");
    String resume = take(values, "--resume");
    Options options = new Options(
        Map.copyOf(counts),
        Long.parseLong(take(values, "--seed")),
        number.isEmpty() ? null : Long.valueOf(number),
        Long.parseLong(take(values, "--minutes")),
        resume.isEmpty() ? null : Path.of(resume),
        Path.of(take(values, "--dir")),
        Path.of(take(values, "--controls")),
        Long.parseLong(take(values, "--records")),
        Path.of(take(values, "--node-service")),
        take(values, "--sources"),
        take(values, "--settings"),
        take(values, "--again"));
    if (!values.isEmpty()) {
      throw new IllegalArgumentException("unknown options " + values.keySet());
    }
    return options;
  }

  private static String take(Map<String, String> values, String name) {
    String value = values.remove(name);
    if (value == null) {
      throw new IllegalArgumentException(name + " is missing");
    }
    return value;
  }

  List<Kind> kinds() {
    return List.of(Kind.values()).stream()
        .filter(kind -> counts.getOrDefault(kind, 0L) > 0)
        .toList();
  }

  long count(Kind kind) {
    return counts.getOrDefault(kind, 0L);
  }
}
