/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.report;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The plots of pages, from files of results. */
final class PagePlots {
  private static final String STOCK = "stock";

  private record Job(String part, String name, String file, String scenario) {}

  private static final List<Job> JOBS = List.of(
      new Job("transport", "move-many", "jobs-transport", "move-many"),
      new Job("transport", "sql-repartition", "jobs-transport", "sql-repartition"),
      new Job("writer, transport", "sql-repartition", "jobs-sql", "sql-repartition"),
      new Job("writer, transport", "sql-rep., ext4", "jobs-journal", "sql-repartition"),
      new Job("writer, transport", "sql-narrow", "jobs-sql", "sql-narrow"),
      new Job("writer, transport", "sql-wide", "jobs-sql", "sql-wide"),
      new Job("all three", "sort-few", "jobs-sort", "sort-few"),
      new Job("all three", "sort-many", "jobs-sort", "sort-many"),
      new Job("all three", "terasort", "jobs-sort", "terasort"));

  private PagePlots() {}

  /** Returns the plots, by the names of their files, from the folder of the files of results. */
  static Map<String, String> draw(Path results) throws IOException {
    return Map.of(
        "parts.svg", parts(results),
        "tpcds.svg", queries(results, "tpcds", "TPC-DS"),
        "tpcds-joins.svg", queries(results, "tpcds-joins", "TPC-DS, joins that shuffle"));
  }

  /**
   * What each part of the plugin gains: jobs in which the transport alone differs from Spark's own
   * shuffle, those whose map outputs the plugin's writer also makes, and those whose records its
   * sorter also sorts.
   */
  private static String parts(Path results) throws IOException {
    List<Comparison.Row> rows = new ArrayList<>();
    for (Job job : JOBS) {
      Comparison.Row row = comparison(results, job.file, "jobs, warm", job.scenario, "job, s")
          .rows()
          .get(0);
      rows.add(new Comparison.Row(job.part, job.name, row.other(), row.plugin(), row.ratio()));
    }
    return SvgPlot.drawByScenario(new Comparison(
        "What each part gains", "time of the job, Spark's own shuffle / plugin", rows));
  }

  /** The queries of TPC-DS, those in which the plugin did worst first. */
  private static String queries(Path results, String file, String title) throws IOException {
    Comparison queries = comparison(results, file, "tpcds, scale 1, warm", null, "query, s");
    return SvgPlot.draw(
        new Comparison(title, "time of each query, Spark's own shuffle / plugin", queries.rows()));
  }

  private static Comparison comparison(
      Path results, String file, String benchmark, @Nullable String scenario, String figure)
      throws IOException {
    List<Run> runs = ResultFile.read(results.resolve(file + ".jsonl.gz")).runs().stream()
        .filter(run -> run.benchmark().equals(benchmark))
        .filter(run -> scenario == null || run.scenario().equals(scenario))
        .filter(run -> run.side().equals(STOCK) || run.side().equals(Run.PLUGIN))
        .toList();
    return Comparison.of(runs).stream()
        .filter(comparison -> comparison.figure().equals(figure))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException(
            "%s has no %s of %s in %s".formatted(file, figure, scenario, benchmark)));
  }
}
