/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Properties;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The account of a campaign, kept in a file if the campaign is to continue later. It belongs to one
 * seed, some settings and one state of the sources, which a hash identifies.
 */
final class Tally {
  /** The keys that identify an account; all its other values are numbers. */
  private static final Set<String> SCOPE = Set.of("seed", "sources", "settings");

  private final @Nullable Path file;
  private final Properties values = new Properties();

  private Tally(@Nullable Path file) {
    this.file = file;
  }

  /**
   * @param file one that is missing or empty begins an account
   * @throws IllegalArgumentException if the file holds something else, or its account is of another seed,
   *     other sources or other settings
   */
  static Tally open(@Nullable Path file, long seed, String sources, String settings)
      throws IOException {
    Tally tally = new Tally(file);
    if (file != null && Files.exists(file) && Files.size(file) > 0) {
      tally.load(file);
    }
    tally.agree("seed", Long.toString(seed));
    tally.agree("sources", sources);
    tally.agree("settings", settings);
    return tally;
  }

  /** Checks that the file is an account by its keys, since any text can be read as properties. */
  private void load(Path account) throws IOException {
    boolean known;
    try (BufferedReader in = Files.newBufferedReader(account)) {
      values.load(in);
      known = values.stringPropertyNames().containsAll(SCOPE)
          && values.stringPropertyNames().stream()
              .allMatch(key -> SCOPE.contains(key) || get(key) >= 0);
    } catch (CharacterCodingException | IllegalArgumentException e) { // other bytes, other text
      known = false;
    }
    if (!known) {
      throw new IllegalArgumentException("--resume " + account
          + " is no account of bin/faults: give the file of an earlier run, or a new name");
    }
  }

  private void agree(String key, String value) {
    Object before = values.putIfAbsent(key, value);
    if (before != null && !before.equals(value)) {
      throw new IllegalArgumentException("--resume " + file + ": it counts for " + key + " "
          + before + ", and this is " + key + " " + value + ": give another file");
    }
  }

  long get(String key) {
    return Long.parseLong(values.getProperty(key, "0"));
  }

  void add(String key, long amount) {
    values.setProperty(key, Long.toString(get(key) + amount));
  }

  void save() throws IOException {
    if (file == null) {
      return;
    }
    Path next = file.resolveSibling(file.getFileName() + ".new");
    try (BufferedWriter out = Files.newBufferedWriter(next)) {
      values.store(out, null);
    }
    Files.move(next, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }

  boolean isClean() {
    return get("wrong") + get("hung") + get("leaked") == 0;
  }

  String summary() {
    return ("faults: %d injected faults, %d orphaned reads, %d terasorts (%d killed in reduce), %d cancels, %d shuffles:"
            + " %d wrong, %d hung, %d leaked, %d ended in Spark's own failure")
        .formatted(
            get("faults"),
            get("orphan"),
            get("terasort"),
            get("terasort.reduce"),
            get("cancel"),
            get("leak"),
            get("wrong"),
            get("hung"),
            get("leaked"),
            get("spark_failure"));
  }
}
