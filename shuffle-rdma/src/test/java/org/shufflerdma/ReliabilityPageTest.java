/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.shufflerdma.connection.PeerFailure;
import org.shufflerdma.mapoutput.UnpublishedReason;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.verbs.WcStatus;

/**
 * What docs/reliability.md says of faults, held against the sources. A test that was renamed is
 * renamed there; a fault or reason that is new gets a row.
 */
class ReliabilityPageTest {
  private static final Path ROOT = Path.of("..");
  private static final List<String> TESTS = List.of(
      "rdma-transport/src/test/java",
      "node-service/src/test/java",
      "mapreduce-rdma/src/test/java",
      "shuffle-rdma/src/test/java",
      "spark-tests/src/test/scala");
  private static final Path NATIVE_TESTS = ROOT.resolve("native-verbs/tests");
  private static final Pattern CODE = Pattern.compile("`([^`]+)`");
  private static final Pattern JUNIT = Pattern.compile("(\\w+)#(\\w+)");
  private static final Pattern SCALATEST = Pattern.compile("(\\w+) \"(.+)\"");
  private static final Pattern NATIVE = Pattern.compile("[a-z]+/[a-z_0-9]+");
  private static final int CELLS = 5;

  /** So that none is lost at the end: a new row is counted here. */
  private static final int LAST_ROW = 75;

  private static final int LAST_STATUS = WcStatus.GENERAL_ERR;

  private static String page = "";
  private static List<Path> sources = List.of();

  /** A row of the table of faults. */
  private record Row(int number, String seenAs, String tests) {}

  @BeforeAll
  static void read() throws IOException {
    page = Files.readString(ROOT.resolve("docs/reliability.md"));
    List<Path> files = new ArrayList<>();
    for (String tests : TESTS) {
      try (Stream<Path> each = Files.walk(ROOT.resolve(tests))) {
        each.filter(Files::isRegularFile).forEach(files::add);
      }
    }
    sources = files;
  }

  private static String section(String title) {
    int start = page.indexOf("\n## " + title + "\n");
    assertThat(start).as("section %s", title).isNotNegative();
    int end = page.indexOf("\n## ", start + 1);
    return page.substring(start, end < 0 ? page.length() : end);
  }

  private static List<Row> rows() {
    List<Row> rows = new ArrayList<>();
    for (String line : section("Faults").lines().toList()) {
      String[] cells = line.split("(?<!\\\\)\\|", -1);
      if (line.startsWith("| ") && Character.isDigit(line.charAt(2))) {
        assertThat(cells).as(line).hasSize(CELLS + 2);
        rows.add(new Row(Integer.parseInt(cells[1].trim()), cells[4], cells[5].trim()));
      }
    }
    return rows;
  }

  private static List<String> code(String text) {
    return CODE.matcher(text).results().map(found -> found.group(1)).toList();
  }

  @Test
  void rowsAreNumberedWithoutAGap() {
    assertThat(rows().stream().map(Row::number).toList())
        .isEqualTo(IntStream.rangeClosed(1, LAST_ROW).boxed().toList());
  }

  @Test
  void everyRowNamesItsTestsOrTheReasonForNone() {
    for (Row row : rows()) {
      boolean reason = row.tests.startsWith("no test: ");
      assertThat(code(row.tests).isEmpty()).as("row %s", row).isEqualTo(reason);
    }
  }

  @Test
  void everyTestThatIsNamedExists() throws IOException {
    List<String> named = new ArrayList<>();
    rows().forEach(row -> named.addAll(code(row.tests)));
    code(page).stream().filter(text -> text.contains("#")).forEach(named::add);
    named.remove("Class#method"); // how tests are written on the page
    List<String> missing = new ArrayList<>();
    for (String test : named) {
      if (!exists(test)) {
        missing.add(test);
      }
    }
    assertThat(missing)
        .as("tests of docs/reliability.md that are not in the sources")
        .isEmpty();
  }

  private static boolean exists(String test) throws IOException {
    Matcher junit = JUNIT.matcher(test);
    if (junit.matches()) {
      return sourceHas(junit.group(1) + ".java", "void " + junit.group(2) + "(");
    }
    Matcher scalaTest = SCALATEST.matcher(test);
    if (scalaTest.matches()) {
      return suiteHas(scalaTest.group(1), scalaTest.group(2));
    }
    if (NATIVE.matcher(test).matches()) {
      return Files.exists(NATIVE_TESTS.resolve(test + ".c"));
    }
    return Files.isRegularFile(ROOT.resolve(test));
  }

  private static boolean sourceHas(String name, String text) throws IOException {
    for (Path source : sources) {
      if (Objects.toString(source.getFileName()).equals(name)
          && Files.readString(source).contains(text)) {
        return true;
      }
    }
    return false;
  }

  private static boolean suiteHas(String suite, String title) throws IOException {
    Pattern body = Pattern.compile(
        "class " + suite + "\\b(?:(?!\n(?:final |abstract )?class ).)*test\\(\\s*"
            + Pattern.quote("\"" + title + "\"") + "\\)",
        Pattern.DOTALL);
    for (Path source : sources) {
      if (source.toString().endsWith(".scala")
          && body.matcher(Files.readString(source)).find()) {
        return true;
      }
    }
    return false;
  }

  @Test
  void everyReasonThatUsersSeeIsInARow() {
    List<String> seen =
        rows().stream().flatMap(row -> code(row.seenAs).stream()).toList();
    for (TcpReason reason : TcpReason.values()) {
      assertThat(seen).contains(reason.label());
    }
    for (UnpublishedReason reason : UnpublishedReason.values()) {
      assertThat(seen).contains("outputs.unpublished." + reason.label());
    }
  }

  @Test
  void everyPeerFailureAndEveryStatusIsAnswered() {
    List<String> kinds = code(section("Why there is no connection, and what ends one"));
    for (PeerFailure kind : PeerFailure.values()) {
      assertThat(kinds).contains(kind.name());
    }
    List<String> statuses = code(section("Status of a completion, and what follows"));
    for (int status = 0; status <= LAST_STATUS; status++) {
      assertThat(statuses).contains(WcStatus.name(status));
    }
  }
}
