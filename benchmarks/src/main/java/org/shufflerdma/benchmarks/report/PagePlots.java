/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The plot of what each part of the plugin gains: jobs in which the transport alone differs from
 * Spark's own shuffle, those whose map outputs the plugin's writer also makes, and those whose records
 * its sorter also sorts.
 */
final class PartsPlot {
  static final String FILE = "parts.svg";

  private static final String BENCHMARK = "jobs, warm";
  private static final String FIGURE = "job, s";
  private static final String STOCK = "stock";

  private record Job(String part, String name, String file, String scenario) {}

  private static final List<Job> JOBS = List.of(
      new Job("transport", "move-many", "jobs-transport", "move-many"),
      new Job("transport", "sql-repartition", "jobs-transport", "sql-repartition"),
      new Job("writer, transport", "sql-repartition", "jobs-sql", "sql-repartition"),
      new Job("writer, transport", "sql-rep., ext4", "jobs-journal", "sql-repartition"),
      new Job("writer, transport", "sql-narrow", "jobs-sql", "sql-narrow"),
      new Job("writer, transport", "sql-wide", "jobs-sql", "sql-wide"),
      new Job("sorter, transport", "sort-few", "jobs-sort", "sort-few"),
      new Job("sorter, transport", "sort-many", "jobs-sort", "sort-many"),
      new Job("sorter, transport", "terasort", "jobs-sort", "terasort"));

  private PartsPlot() {}

  static String draw(Path results) throws IOException {
    List<Comparison.Row> rows = new ArrayList<>();
    for (Job job : JOBS) {
      Comparison.Row row = row(ResultFile.read(results.resolve(job.file + ".jsonl.gz")), job);
      rows.add(new Comparison.Row(job.part, job.name, row.other(), row.plugin(), row.ratio()));
    }
    return SvgPlot.drawByScenario(new Comparison(
        "What each part gains", "time of the job, Spark's own shuffle / plugin", rows));
  }

  private static Comparison.Row row(ResultFile file, Job job) {
    List<Run> runs = file.runs().stream()
        .filter(run -> run.benchmark().equals(BENCHMARK) && run.scenario().equals(job.scenario))
        .filter(run -> run.side().equals(STOCK) || run.side().equals(Run.PLUGIN))
        .toList();
    return Comparison.of(runs).stream()
        .filter(comparison -> comparison.figure().equals(FIGURE))
        .flatMap(comparison -> comparison.rows().stream())
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException(
            file.path() + " has no " + FIGURE + " of " + job.scenario + " in " + BENCHMARK));
  }
}
