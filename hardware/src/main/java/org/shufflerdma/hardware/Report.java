/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The findings of a run: facts of the host, what was proven and what was not, measurements, and
 * suggested settings, with the same content as text and as JSON. One thread uses it.
 */
final class Report {
  enum Verdict {
    PROVEN,
    FAILED,
    NOT_PROVEN;

    String label() {
      return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
  }

  /**
   * @param needed whether the plugin cannot do without it
   */
  private record Finding(String name, Verdict verdict, boolean needed, String text) {
    Map<String, Object> json() {
      return Json.object("name", name, "verdict", verdict.label(), "needed", needed, "text", text);
    }
  }

  private record Line(String name, String text) {}

  private record Table(String name, List<String> rows) {}

  private final Map<String, String> facts = new LinkedHashMap<>();
  private final List<Finding> findings = new ArrayList<>();
  private final Map<String, Object> measurements = new LinkedHashMap<>();
  private final List<Line> measured = new ArrayList<>();
  private final List<Table> tables = new ArrayList<>();
  private final List<Line> suggestions = new ArrayList<>();
  private final List<String> notShown = new ArrayList<>();

  void fact(String name, String value) {
    facts.put(name, value);
  }

  void needed(String name, Verdict verdict, String text) {
    findings.add(new Finding(name, verdict, true, text));
  }

  void optional(String name, Verdict verdict, String text) {
    findings.add(new Finding(name, verdict, false, text));
  }

  /**
   * @param line what a person reads
   * @param json what a program reads
   */
  void measurement(String name, String line, Map<String, Object> json) {
    measured.add(new Line(name, line));
    measurements.put(name, json);
  }

  /**
   * @param rows what a person reads, headings first
   * @param json the same for a program
   */
  void table(String name, List<String> rows, List<?> json) {
    tables.add(new Table(name, rows));
    measurements.put(name, json);
  }

  void suggest(String setting, String reason) {
    suggestions.add(new Line(setting, reason));
  }

  void notShown(String text) {
    notShown.add(text);
  }

  /**
   * Returns whether everything that the plugin needs was proven. An optional feature does not
   * change this, even if it fails: a device with broken on-demand paging serves the shuffle.
   */
  boolean proven() {
    return findings.stream().filter(Finding::needed).allMatch(f -> f.verdict() == Verdict.PROVEN);
  }

  /** Returns the facts, by name, in the order in which they came. */
  Map<String, String> facts() {
    return Collections.unmodifiableMap(facts);
  }

  /** Returns the texts of what the plugin needs and that was not proven. */
  List<String> unproven() {
    return findings.stream()
        .filter(finding -> finding.needed() && finding.verdict() != Verdict.PROVEN)
        .map(Finding::text)
        .toList();
  }

  String text() {
    StringBuilder out = new StringBuilder();
    heading(out, "host and device");
    facts.forEach((name, value) -> line(out, name, value));
    heading(out, "what the plugin needs, and what it can do without");
    for (Finding finding : findings) {
      line(
          out,
          finding.name(),
          finding.verdict().label().toUpperCase(Locale.ROOT)
              + (finding.needed() ? "" : " (optional)") + ": " + finding.text());
    }
    if (!measured.isEmpty()) {
      heading(out, "measured: median (least to most)");
      measured.forEach(line -> line(out, line.name(), line.text()));
    }
    for (Table table : tables) {
      heading(out, table.name());
      table.rows().forEach(row -> out.append("  ").append(row.stripTrailing()).append('\n'));
    }
    heading(out, "suggested settings");
    if (suggestions.isEmpty()) {
      out.append(proven() ? "  none: the defaults fit what was measured\n" : "  none\n");
    }
    suggestions.forEach(s -> line(out, s.name(), s.text()));
    heading(out, "not shown by this run");
    notShown.forEach(text -> out.append("  ").append(text).append('\n'));
    return out.toString();
  }

  private static void heading(StringBuilder out, String text) {
    out.append(out.isEmpty() ? "" : "\n").append(text).append('\n');
  }

  private static void line(StringBuilder out, String name, String text) {
    out.append(String.format(Locale.ROOT, "  %-24s %s%n", name, text));
  }

  /** Returns the text, and after it the same as JSON, which begins with the first line "{". */
  String file() {
    return text() + "\nthe same for programs, as JSON\n" + json();
  }

  String json() {
    return Json.of(Json.object(
        "proven",
        proven(),
        "facts",
        facts,
        "findings",
        findings.stream().map(Finding::json).toList(),
        "measurements",
        measurements,
        "suggestions",
        suggestions.stream().map(Report::suggestion).toList(),
        "not_shown",
        notShown));
  }

  private static Map<String, Object> suggestion(Line line) {
    return Json.object("setting", line.name(), "reason", line.text());
  }
}
