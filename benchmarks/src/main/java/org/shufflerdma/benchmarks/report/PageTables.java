/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Makes the tables of a page from files of results. A table of the page lies between two comments, of
 * which the first names the file, the benchmark and the figures:
 *
 * <pre>
 *   &lt;!-- results jobs.jsonl.gz | jobs, warm | job, s; reduces, s --&gt;
 *   &lt;!-- end of results --&gt;
 * </pre>
 *
 * <p>Arguments: PAGE FOLDER PLOTS, where the files of results are, and where {@link PartsPlot} goes
 */
public final class PageTables {
  private static final String END = "<!-- end of results -->";
  private static final Pattern TABLE = Pattern.compile(
      "(<!-- results (?<file>[^ |]+) \\| (?<benchmark>[^|\\n]+) \\| (?<figures>[^\\n]+) -->\\n)"
          + "(?:(?!<!-- ).*\\n)*"
          + END);

  private PageTables() {}

  public static void main(String[] arguments) throws IOException {
    Path page = Path.of(arguments[0]);
    Path results = Path.of(arguments[1]);
    Files.writeString(page, rewrite(Files.readString(page), results));
    Files.writeString(Path.of(arguments[2]).resolve(PartsPlot.FILE), PartsPlot.draw(results));
  }

  /** Returns the page with the tables that follow from the files of results. */
  static String rewrite(String page, Path folder) throws IOException {
    StringBuilder rewritten = new StringBuilder();
    Matcher table = TABLE.matcher(page);
    while (table.find()) {
      String text = table(
          ResultFile.read(folder.resolve(table.group("file"))),
          table.group("benchmark"),
          List.of(table.group("figures").split("; ", -1)));
      table.appendReplacement(rewritten, Matcher.quoteReplacement(table.group(1) + text + END));
    }
    return table.appendTail(rewritten).toString();
  }

  private static String table(ResultFile file, String benchmark, List<String> figures) {
    List<Run> runs =
        file.runs().stream().filter(run -> run.benchmark().equals(benchmark)).toList();
    // Rows by scenario, in the order of the file, and then by figure; cells by side.
    Map<String, Map<String, Map<String, Comparison.Row>>> rows = new LinkedHashMap<>();
    TreeSet<String> sides = new TreeSet<>();
    for (String figure : figures) {
      Comparison.of(runs).stream()
          .filter(comparison -> comparison.figure().equals(figure))
          .flatMap(comparison -> comparison.rows().stream())
          .forEach(row -> {
            sides.add(row.side());
            rows.computeIfAbsent(row.scenario(), key -> new LinkedHashMap<>())
                .computeIfAbsent(figure, key -> new TreeMap<>())
                .put(row.side(), row);
          });
    }
    if (rows.isEmpty()) {
      throw new IllegalArgumentException(
          file.path() + " has none of the figures " + figures + " of " + benchmark);
    }
    boolean isAlone = sides.equals(Set.of(Run.PLUGIN));
    StringBuilder text = new StringBuilder();
    if (isAlone) {
      addRanges(text, runs, figures);
      return text.append("\n")
          .append(source(file, benchmark, runs, true))
          .append("\n")
          .toString();
    }
    line(
        text,
        Stream.of(
            Stream.of("scenario", "figure"),
            sides.stream(),
            Stream.of("plugin"),
            sides.stream().map(side -> side + " / plugin")));
    text.append("|---".repeat(3 + 2 * sides.size())).append("|\n");
    rows.forEach((scenario, ofScenario) -> ofScenario.forEach((figure, cells) -> line(
        text,
        Stream.of(
            Stream.of("`" + scenario + "`", figure),
            sides.stream().map(side -> median(cells.get(side))),
            cells.values().stream().limit(1).map(row -> ReportPage.number(row.plugin())),
            sides.stream().map(side -> ratio(cells.get(side)))))));
    return text.append("\n")
        .append(source(file, benchmark, runs, false))
        .append("\n")
        .toString();
  }

  /** Of a benchmark without another side, what all runs of each scenario came to. */
  private static void addRanges(StringBuilder text, List<Run> runs, List<String> figures) {
    text.append("| scenario | figure | median | least | most |\n|---|---|---|---|---|\n");
    Map<String, List<Run>> scenarios = runs.stream()
        .collect(Collectors.groupingBy(Run::scenario, LinkedHashMap::new, Collectors.toList()));
    scenarios.forEach((scenario, ofScenario) -> {
      for (String figure : figures) {
        double[] values = ofScenario.stream()
            .map(run -> run.figures().get(figure))
            .filter(Objects::nonNull)
            .mapToDouble(Double::doubleValue)
            .sorted()
            .toArray();
        if (values.length > 0) {
          line(
              text,
              Stream.of(
                  Stream.of("`" + scenario + "`", figure),
                  Stream.of(Ratio.median(values), values[0], values[values.length - 1])
                      .map(ReportPage::number)));
        }
      }
    });
  }

  private static void line(StringBuilder text, Stream<Stream<String>> cells) {
    text.append(cells.flatMap(each -> each).collect(Collectors.joining(" | ", "| ", " |\n")));
  }

  private static String median(Comparison.@Nullable Row row) {
    return row == null ? "–" : ReportPage.number(row.other());
  }

  /** Bold where the interval does not contain 1. */
  private static String ratio(Comparison.@Nullable Row row) {
    @Nullable Ratio ratio = row == null ? null : row.ratio();
    if (ratio == null) {
      return "–";
    }
    boolean differs = ratio.hasInterval() && (ratio.low() > 1 || ratio.high() < 1);
    String text = ratio.toString();
    int median = text.indexOf(' ');
    return differs ? "**" + text.substring(0, median) + "**" + text.substring(median) : text;
  }

  /** Where the lines are, and what the figures depend on. */
  private static String source(ResultFile file, String benchmark, List<Run> runs, boolean isAlone) {
    long applications = runs.stream().map(Run::application).distinct().count();
    long rounds = runs.stream().map(Run::round).distinct().count();
    String name = String.valueOf(file.path().getFileName());
    List<String> sentences = new ArrayList<>();
    sentences.add("Raw lines: [%s](results/%s)".formatted(name, name));
    sentences.add((isAlone
            ? "Sets of processes: %d, rounds of each: %d"
            : "Applications of each side: %d, rounds of each: %d")
        .formatted(applications, rounds));
    if (applications < Ratio.LEAST_APPLICATIONS && !isAlone) {
      sentences.add(
          "That is too little for an interval: a ratio is followed by the least and the most of a round");
    }
    sentences.add(joined(file.machine()));
    sentences.add(joined(file.settings().getOrDefault(benchmark, Map.of())));
    return sentences.stream()
        .filter(each -> !each.isEmpty())
        .collect(Collectors.joining(".\n", "", ".\n"));
  }

  private static String joined(Map<String, String> facts) {
    return facts.entrySet().stream()
        .map(fact -> "`" + fact.getKey() + "` " + fact.getValue())
        .collect(Collectors.joining(", "));
  }
}
