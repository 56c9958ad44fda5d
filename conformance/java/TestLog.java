/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.conformance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.scalatest.Reporter;
import org.scalatest.events.Event;
import org.scalatest.events.RunAborted;
import org.scalatest.events.RunStarting;
import org.scalatest.events.SuiteAborted;
import org.scalatest.events.TestCanceled;
import org.scalatest.events.TestFailed;
import org.scalatest.events.TestIgnored;
import org.scalatest.events.TestPending;
import org.scalatest.events.TestStarting;
import org.scalatest.events.TestSucceeded;
import scala.Option;

/**
 * Writes a line per event to the file that the property {@code conformance.results} names, at once,
 * so that a run that is ended leaves what it knew: status, milliseconds, the test's name and, of a
 * failed one, the message, with tabs between. The first line is {@code expected}, 0, and how many
 * tests the suite has that are not ignored.
 */
public final class TestLog implements Reporter {
  private final Path results = Path.of(System.getProperty("conformance.results"));

  @Override
  public void apply(Event event) {
    if (event instanceof RunStarting run) {
      write("expected", Option.empty(), String.valueOf(run.testCount()), "");
    } else if (event instanceof TestStarting test) {
      write("started", Option.empty(), test.testName(), "");
    } else if (event instanceof TestSucceeded test) {
      write("passed", test.duration(), test.testName(), "");
    } else if (event instanceof TestFailed test) {
      write("failed", test.duration(), test.testName(), test.message());
    } else if (event instanceof TestCanceled test) {
      write("canceled", test.duration(), test.testName(), test.message());
    } else if (event instanceof TestIgnored test) {
      write("ignored", Option.empty(), test.testName(), "");
    } else if (event instanceof TestPending test) {
      write("pending", test.duration(), test.testName(), "");
    } else if (event instanceof SuiteAborted suite) {
      write("failed", suite.duration(), "(the suite itself)", suite.message());
    } else if (event instanceof RunAborted run) {
      write("failed", run.duration(), "(the suite itself)", run.message());
    }
  }

  private synchronized void write(
      String status, Option<Object> duration, String test, String message) {
    String line = String.join(
        "\t",
        status,
        duration.isDefined() ? duration.get().toString() : "0",
        oneLine(test),
        oneLine(message));
    try {
      Files.writeString(
          results, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String oneLine(String text) {
    String line = String.valueOf(text).strip().replaceAll("\\s+", " ");
    return line.length() > 400 ? line.substring(0, 400) + "…" : line;
  }
}
