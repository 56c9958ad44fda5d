/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What docs/compatibility.md calls tested names a test that there is. */
final class CompatibilityPageTest {
  private static final Path ROOT = Path.of("..");
  private static final List<String> STATES =
      List.of("tested", "expected", "not tried", "no gain", "does not work");
  private static final Pattern NAMED = Pattern.compile("`(\\w+(?:Suite|Test)|bin/[a-z-]+)\\b");
  private static final Pattern CLASS =
      Pattern.compile("^(?:final |public )*class (\\w+(?:Suite|Test))\\b", Pattern.MULTILINE);

  private static List<String[]> rows = List.of();
  private static Set<String> tests = Set.of();

  @BeforeAll
  static void read() throws IOException {
    List<String[]> found = new ArrayList<>();
    boolean states = false;
    for (String line : Files.readAllLines(ROOT.resolve("docs/compatibility.md"))) {
      if (line.startsWith("| | state |")) {
        states = true;
      } else if (!line.startsWith("|")) {
        states = false;
      } else if (states && !line.startsWith("|---")) {
        found.add(line.split("(?<!\\\\)\\|", -1));
      }
    }
    rows = found;
    Set<String> classes = new HashSet<>();
    for (String module : List.of(
        "rdma-transport", "node-service", "mapreduce-rdma", "shuffle-rdma", "spark-tests")) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/test"))) {
        for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
          Matcher matcher = CLASS.matcher(Files.readString(file));
          while (matcher.find()) {
            classes.add(matcher.group(1));
          }
        }
      }
    }
    tests = classes;
  }

  @Test
  void everyRowHasOneOfTheStates() {
    assertThat(rows).hasSizeGreaterThan(40);
    assertThat(rows).allSatisfy(row -> assertThat(STATES).anyMatch(row[2].trim()::startsWith));
  }

  @Test
  void everyTestThatIsNamedExists() {
    List<String> missing = new ArrayList<>();
    for (String[] row : rows) {
      for (String name : named(row)) {
        boolean exists =
            name.startsWith("bin/") ? Files.isExecutable(ROOT.resolve(name)) : tests.contains(name);
        if (!exists) {
          missing.add(row[1].trim() + ": " + name);
        }
      }
    }
    assertThat(missing).isEmpty();
  }

  @Test
  void whatIsTestedNamesItsTest() {
    for (String[] row : rows) {
      if (row[2].trim().startsWith("tested")) {
        assertThat(named(row)).as(row[1].trim()).isNotEmpty();
      }
    }
  }

  private static List<String> named(String[] row) {
    return NAMED
        .matcher(String.join("|", row))
        .results()
        .map(name -> name.group(1))
        .toList();
  }
}
