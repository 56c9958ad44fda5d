/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Makes one page of files of results: for each benchmark of each file plots of the ratios, the tables
 * behind them, and every run. The page needs nothing but itself. The plots are written as files, too.
 *
 * <p>Arguments: FOLDER FILE...
 */
public final class ReportPage {
  private static final String HEAD = """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <meta name="color-scheme" content="light dark">
      <title>Benchmarks of the RDMA shuffle</title>
      <style>
        body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 56rem; padding: 0 1rem;
               color: #1f2328; background: #fff; }
        h2 { margin-top: 3rem; border-bottom: 1px solid #8886; } h4 { margin: 2rem 0 .5rem; }
        svg { max-width: 100%; height: auto; }
        table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
        th, td { border-bottom: 1px solid #8886; padding: .15rem .6rem; text-align: left; white-space: nowrap; }
        .wide { overflow-x: auto; } .bad { color: #d1242f; font-weight: bold; } summary { cursor: pointer; }
        @media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; } .bad { color: #ff7b72; } }
      </style>
      </head>
      <body>
      <h1>Benchmarks of the RDMA shuffle</h1>
      <p>A point is the median over all rounds of another side's figure divided by that of the plugin
      (<code>rdma</code>). With six applications of each side or more, the line is the interval in which
      95 % of the medians of resampled applications and rounds lie. With fewer it is dotted, from the
      least to the most ratio of a round. Right of 1 the plugin was better. For figures per second, of which more is better, the ratio
      is turned over. Where either figure is 0, the round counts in the medians alone.</p>
      """;

  private final Path folder;
  private final StringBuilder page = new StringBuilder(HEAD);
  private boolean agree = true;

  private ReportPage(Path folder) {
    this.folder = folder;
  }

  public static void main(String[] arguments) throws IOException {
    ReportPage report = new ReportPage(Path.of(arguments[0]));
    Files.createDirectories(report.folder);
    for (String file : Arrays.asList(arguments).subList(1, arguments.length)) {
      report.add(ResultFile.read(Path.of(file)));
    }
    Path index = report.folder.resolve("index.html");
    Files.writeString(index, report.page + "</body>\n</html>\n");
    System.out.println(index);
    if (!report.agree) {
      throw new IllegalStateException("results of one scenario differ; the page says which");
    }
  }

  private void add(ResultFile file) throws IOException {
    page.append("<h2>%s</h2>%n".formatted(Html.escape(file.name())));
    page.append(Html.table(
        List.of("where", ""),
        file.machine().entrySet().stream()
            .map(fact -> List.of(fact.getKey(), fact.getValue()))
            .toList()));
    Map<String, List<Run>> benchmarks = new TreeMap<>();
    file.runs()
        .forEach(run -> benchmarks
            .computeIfAbsent(run.benchmark(), key -> new ArrayList<>())
            .add(run));
    for (Map.Entry<String, List<Run>> benchmark : benchmarks.entrySet()) {
      page.append("<h3>%s</h3>%n".formatted(Html.escape(benchmark.getKey())));
      page.append(settings(file.settings().getOrDefault(benchmark.getKey(), Map.of())));
      sayWhereResultsDiffer(benchmark.getValue());
      for (Comparison comparison : Comparison.of(benchmark.getValue())) {
        page.append("<h4>%s</h4>%n".formatted(Html.escape(comparison.figure())));
        if (comparison.rows().stream().anyMatch(row -> row.ratio() != null)) {
          String svg = SvgPlot.draw(comparison);
          Files.writeString(
              folder.resolve(file.name() + "-" + comparison.fileName() + ".svg"), svg);
          page.append(svg);
        }
        page.append(table(comparison));
      }
      page.append(everyRun(benchmark.getValue()));
    }
  }

  private static String settings(Map<String, String> settings) {
    return "<details><summary>Settings</summary>\n"
        + Html.table(
            List.of("setting", "value"),
            settings.entrySet().stream()
                .map(each -> List.of(each.getKey(), each.getValue()))
                .toList())
        + "</details>\n";
  }

  private void sayWhereResultsDiffer(List<Run> runs) {
    Map<String, Set<String>> digests = new TreeMap<>();
    runs.forEach(
        run -> digests.computeIfAbsent(run.scenario(), key -> new HashSet<>()).add(run.digest()));
    digests.forEach((scenario, different) -> {
      if (different.size() > 1) {
        agree = false;
        page.append(
            "<p class='bad'>The results of %s differ.</p>%n".formatted(Html.escape(scenario)));
      }
    });
  }

  private static String table(Comparison comparison) {
    List<List<String>> rows = new ArrayList<>();
    for (Comparison.Row row : comparison.rows()) {
      @Nullable Ratio ratio = row.ratio();
      rows.add(List.of(
          row.scenario(),
          row.side(),
          number(row.other()),
          number(row.plugin()),
          ratio == null ? "–" : ratio.toString(),
          ratio == null ? "0" : Integer.toString(ratio.applications()),
          ratio == null ? "0" : Integer.toString(ratio.pairs())));
    }
    return "<details><summary>Table</summary>\n"
        + Html.table(
            List.of(
                "scenario",
                "side",
                "its median",
                "plugin's median",
                "ratio [95 %] or (least to most)",
                "applications",
                "rounds"),
            rows)
        + "</details>\n";
  }

  private static String everyRun(List<Run> runs) {
    Set<String> figures = new LinkedHashSet<>();
    runs.forEach(run -> figures.addAll(run.figures().keySet()));
    List<String> head = new ArrayList<>(List.of("scenario", "application", "round", "side"));
    head.addAll(figures);
    List<List<String>> rows = new ArrayList<>();
    for (Run run : runs) {
      List<String> row = new ArrayList<>(List.of(
          run.scenario(),
          Integer.toString(run.application()),
          Integer.toString(run.round()),
          run.side()));
      for (String figure : figures) {
        @Nullable Double value = run.figures().get(figure);
        row.add(value == null ? "–" : number(value));
      }
      rows.add(row);
    }
    return "<details><summary>All %d runs</summary>%n".formatted(runs.size())
        + Html.table(head, rows) + "</details>\n";
  }

  static String number(double value) {
    return String.format(Locale.ROOT, value < 10 ? "%.3f" : "%.1f", value);
  }
}
