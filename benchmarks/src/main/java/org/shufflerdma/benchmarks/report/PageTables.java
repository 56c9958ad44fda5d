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
 * Makes the tables of pages from files of results. A table of a page lies between two comments, of
 * which the first names the file, the benchmark, if need be its only scenario, the figures, and if need be the only sides beside
 * the plugin:
 *
 * <pre>
 *   &lt;!-- results jobs.jsonl.gz | jobs, warm | job, s; reduces, s --&gt;
 *   &lt;!-- end of results --&gt;
 *   &lt;!-- results tpcds.jsonl.gz | tpcds, scale 1, warm: all | query, s --&gt;
 *   &lt;!-- end of results --&gt;
 *   &lt;!-- results fetch.jsonl.gz | fetch | time per block, µs | netty; ucx --&gt;
 *   &lt;!-- end of results --&gt;
 * </pre>
 *
 * <p>Argument: the folder of the {@link #PAGES}, with the files of results in {@code results} and the
 * plots in {@code plots}.
 */
public final class PageTables {
  static final List<String> PAGES = List.of("benchmarks.md", "tpcds.md");

  private static final String END = "<!-- end of results -->";
  private static final Pattern TABLE = Pattern.compile(
      "(<!-- results (?<file>[^ |]+) \\| (?<benchmark>[^|:\\n]+)(: (?<scenario>[^|\\n]+))? \\| (?<figures>[^|\\n]+?)( \\| (?<sides>[^|\\n]+))? -->\\n)"
          + "(?:(?!<!-- ).*\\n)*"
          + END);

  private PageTables() {}

  public static void main(String[] arguments) throws IOException {
    Path docs = Path.of(arguments[0]);
    Path results = docs.resolve("results");
    for (String page : PAGES) {
      Files.writeString(docs.resolve(page), rewrite(Files.readString(docs.resolve(page)), results));
    }
    for (Map.Entry<String, String> plot : PagePlots.draw(results).entrySet()) {
      Files.writeString(docs.resolve("plots").resolve(plot.getKey()), plot.getValue());
    }
  }

  /** Returns the page with the tables that follow from the files of results. */
  static String rewrite(String page, Path folder) throws IOException {
    StringBuilder rewritten = new StringBuilder();
    Matcher table = TABLE.matcher(page);
    while (table.find()) {
      String text = table(
          ResultFile.read(folder.resolve(table.group("file"))),
          table.group("benchmark"),
          table.group("scenario"),
          List.of(table.group("figures").split("; ", -1)),
          table.group("sides"));
      table.appendReplacement(rewritten, Matcher.quoteReplacement(table.group(1) + text + END));
    }
    return table.appendTail(rewritten).toString();
  }

  private static String table(
      ResultFile file,
      String benchmark,
      @Nullable String scenario,
      List<String> figures,
      @Nullable String onlySides) {
    Set<String> shown = onlySides == null ? Set.of() : Set.of(onlySides.split("; ", -1));
    List<Run> runs = file.runs().stream()
        .filter(run -> run.benchmark().equals(benchmark))
        .filter(run -> scenario == null || run.scenario().equals(scenario))
        .filter(
            run -> shown.isEmpty() || run.side().equals(Run.PLUGIN) || shown.contains(run.side()))
        .toList();
    // Rows by scenario, as the comparison orders them, and then by figure; cells by side.
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
    if (!sides.containsAll(shown)) {
      throw new IllegalArgumentException(file.path() + " has not all of the sides " + shown);
    }
    boolean isAlone = sides.equals(Set.of(Run.PLUGIN));
    StringBuilder text = new StringBuilder();
    if (isAlone) {
      addRanges(text, runs, figures);
    } else {
      addRatios(text, sides, rows);
    }
    return text + "\n" + source(file, benchmark, runs, isAlone) + "\n";
  }

  private static void addRatios(
      StringBuilder text,
      Set<String> sides,
      Map<String, Map<String, Map<String, Comparison.Row>>> rows) {
    line(
        text,
        Stream.of(
            Stream.of("scenario", "figure"),
            sides.stream(),
            Stream.of("plugin"),
            sides.stream().map(side -> side + " / plugin")));
    text.append("|---".repeat(3 + 2 * sides.size())).append("|\n");
    rows.forEach((name, ofScenario) -> ofScenario.forEach((figure, cells) -> line(
        text,
        Stream.of(
            Stream.of("`" + name + "`", figure),
            sides.stream().map(side -> median(cells.get(side))),
            cells.values().stream().limit(1).map(row -> ReportPage.number(row.plugin())),
            sides.stream().map(side -> ratio(cells.get(side)))))));
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
