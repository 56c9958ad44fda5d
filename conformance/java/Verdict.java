/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.conformance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Judges a suite that {@code bin/conformance} has run, by what the run has left in its folder: {@code events} of {@link
 * TestLog}, {@code status} and {@code seconds} of its JVM, and its logs. Prints the suite's line, then, indented, what else
 * is to be said of it, and last a line {@code sum} for the line of all suites.
 *
 * <p>Its arguments are the folder of {@code bin/conformance}, the version of Spark, the filter of tests or nothing, the
 * suite's class, the folder of its run, and that of the run with Spark's own shuffle, if there is one. Without that one it
 * ends with status 3, and says nothing, when some tests have not passed. With {@code sort} for the run's folder only the
 * line of the run with Spark's own shuffle is printed.
 */
public final class Verdict {
  private static final int NEEDS_STOCK = 3;
  private static final String PACKAGE = "org.apache.spark.";
  private static final String SUMMARY = " Shuffle blocks read by all tasks:";

  private record Outcome(String status, String message) {
    boolean passed() {
      return status.equals("passed");
    }

    boolean failed() {
      return status.equals("failed") || status.equals("unfinished");
    }
  }

  /** What a run has left; the last word on each test counts, and one that only started did not finish. */
  private record Run(Path folder, Map<String, Outcome> tests, int expected, int status) {
    static Run read(Path folder) throws IOException {
      Map<String, Outcome> tests = new LinkedHashMap<>();
      int expected = 0;
      for (String line : lines(folder.resolve("events"))) {
        String[] fields = line.split("\t", -1);
        switch (fields[0]) {
          case "expected" -> expected = Integer.parseInt(fields[2]);
          case "started" -> tests.put(fields[2], new Outcome("unfinished", ""));
          default -> tests.put(fields[2], new Outcome(fields[0], fields[3]));
        }
      }
      int status = Integer.parseInt(lines(folder.resolve("status")).get(0));
      if (tests.isEmpty() && status != 0) {
        tests.put("(the suite itself)", new Outcome("failed", "no test began; see " + folder.resolve("logs/stdout")));
      }
      return new Run(folder, tests, expected, status);
    }

    private static List<String> lines(Path file) throws IOException {
      return Files.exists(file) ? Files.readAllLines(file) : List.of();
    }

    long ran() {
      return tests.values().stream().filter(test -> !test.status().equals("ignored")).count();
    }

    long passed() {
      return tests.values().stream().filter(Outcome::passed).count();
    }

    long failed() {
      return tests.values().stream().filter(Outcome::failed).count();
    }

    long logged(String log, String text) throws IOException {
      return lines(folder.resolve("logs").resolve(log)).stream().filter(line -> line.contains(text)).count();
    }

    /** The sum of a counter over all applications of the suite, as their drivers told it. */
    long counted(String counter) throws IOException {
      Pattern value = Pattern.compile(" " + Pattern.quote(counter) + "=([0-9]+)");
      return lines(folder.resolve("logs/plugin.log")).stream()
          .filter(line -> line.contains(SUMMARY))
          .map(value::matcher)
          .filter(Matcher::find)
          .mapToLong(match -> Long.parseLong(match.group(1)))
          .sum();
    }

    void print(String name, String shuffle) throws IOException {
      System.out.printf("%-50s %4d run %4d passed %3d failed  %s  %4s s%n", name, ran(), passed(), failed(), shuffle,
          lines(folder.resolve("seconds")).get(0));
    }
  }

  private final Path home;
  private final String spark;
  private final String filter;
  private final String suite;
  private final List<String> complaints = new ArrayList<>();
  private int known;

  private Verdict(String[] arguments) {
    home = Path.of(arguments[0]);
    spark = arguments[1];
    filter = arguments[2];
    suite = arguments[3];
  }

  public static void main(String[] arguments) throws IOException {
    new Verdict(arguments).judge(arguments[4], arguments.length > 5 ? Run.read(Path.of(arguments[5])) : null);
  }

  private void judge(String folder, Run stock) throws IOException {
    String name = suite.startsWith(PACKAGE) ? suite.substring(PACKAGE.length()) : suite;
    if (folder.equals("sort")) {
      stock.print(name, "with Spark's shuffle");
      return;
    }
    Run run = Run.read(Path.of(folder));
    boolean all = run.passed() == run.ran() && run.expected() <= run.ran();
    if (!all && stock == null) {
      System.exit(NEEDS_STOCK);
    }
    long rdma = run.counted("shuffle.rdma.bytes");
    run.print(name, "rdma_bytes=" + rdma + " tcp_bytes=" + run.counted("shuffle.rdma.tcp.bytes"));
    complainOfUse(run, name, rdma);
    complainOfEnd(run);
    if (!all) {
      compare(run, stock);
    }
    listed().keySet().stream()
        .filter(test -> run.tests().containsKey(test) && run.tests().get(test).passed())
        .forEach(test -> say("no longer a difference, to be removed from conformance/differences.txt: " + test));
    complaints.forEach(complaint -> say("FAIL " + complaint));
    System.out.printf("sum tests=%d passed=%d failed=%d rdma_bytes=%d known_differences=%d bad=%d%n", run.ran(),
        run.passed(), run.failed(), rdma, known, complaints.isEmpty() ? 0 : 1);
  }

  private void complainOfUse(Run run, String name, long rdma) throws IOException {
    long clusters = run.logged("plugin.log", SUMMARY);
    if (run.ran() == 0) {
      complaints.add("no test ran" + (filter.isEmpty() ? "" : ": none has " + filter + " in its name"));
    } else if (run.logged("plugin.log", "RdmaShuffleManager of the driver") == 0) {
      complaints.add("the plugin was not used: " + run.logged("contexts.log", "Running Spark version")
          + " SparkContexts, none with its shuffle manager");
    } else if (rdma == 0 && run.counted("shuffle.rdma.tcp.bytes") != 0) {
      complaints.add("all remote bytes came by TCP");
    } else if (rdma == 0 && filter.isEmpty() && hasSeveralExecutors(name)) {
      complaints.add("it has several executors, and no byte came by RDMA");
    } else if (rdma == 0 && clusters != 0 && run.logged("plugin.log", " RDMA started in ") == 0) {
      complaints.add(clusters + " SparkContexts with executors shuffled, and no executor started RDMA");
    }
  }

  private boolean hasSeveralExecutors(String name) throws IOException {
    Pattern line = Pattern.compile(Pattern.quote(name) + " +rdma .*");
    return Run.lines(home.resolve("suites.txt")).stream().anyMatch(text -> line.matcher(text).matches());
  }

  private void complainOfEnd(Run run) {
    if (run.status() == 124) {
      complaints.add("it has not ended in time");
    } else if (run.status() > 1 || (run.status() == 1 && run.failed() == 0)) {
      complaints.add("its JVM ended with status " + run.status() + (run.status() == 1 ? " though no test failed" : "")
          + ": see " + run.folder().resolve("logs/stdout"));
    }
  }

  /** Tests that pass with Spark's shuffle must pass with this one, but for those that are listed. */
  private void compare(Run run, Run stock) throws IOException {
    if (run.expected() > run.ran()) {
      say(run.expected() - run.ran() + " of its tests did not run");
    }
    Map<String, String> reasons = listed();
    Outcome none = new Outcome("not run", "");
    for (String test : stock.tests().keySet()) {
      Outcome here = run.tests().getOrDefault(test, none);
      boolean passes = stock.tests().get(test).passed();
      if (passes && !here.passed() && reasons.containsKey(test)) {
        say("known: " + test + ": " + reasons.get(test));
        known++;
      } else if (passes && !here.passed()) {
        complaints.add("passes with Spark's shuffle, here " + here.status() + ": " + test
            + (here.message().isEmpty() ? "" : ": " + here.message()));
      } else if (stock.tests().get(test).failed() && here.failed()) {
        say("fails with Spark's shuffle too: " + test);
      }
    }
    if (stock.passed() == 0) {
      complaints.add("no test passes with Spark's shuffle either: see " + stock.folder().resolve("logs/stdout"));
    }
  }

  /** What {@code differences.txt} has for the suite: tests and reasons. */
  private Map<String, String> listed() throws IOException {
    Map<String, String> reasons = new TreeMap<>();
    for (String line : Run.lines(home.resolve("differences.txt"))) {
      String[] fields = line.strip().split(" *[|] *");
      if (!line.startsWith("#") && fields.length == 4 && Set.copyOf(Arrays.asList(fields[0].split(" +"))).contains(spark)
          && ("." + suite).endsWith("." + fields[1])) {
        reasons.put(fields[2], fields[3]);
      }
    }
    return reasons;
  }

  private static void say(String text) {
    System.out.println("  " + text);
  }
}
