/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/** Prints what a file of results says, as tables of Markdown. */
public final class JobReport {
  private static final Map<String, ToDoubleFunction<JobRun>> FIGURES = figures();

  private JobReport() {}

  private static Map<String, ToDoubleFunction<JobRun>> figures() {
    Map<String, ToDoubleFunction<JobRun>> figures = new LinkedHashMap<>();
    figures.put("job, s", JobRun::wallSeconds);
    figures.put("executors' CPU, s", JobRun::executorCpuSeconds);
    figures.put("maps, s", JobRun::mapWallSeconds);
    figures.put("maps' task CPU, s", JobRun::mapTaskCpuSeconds);
    figures.put("reduces, s", JobRun::reduceWallSeconds);
    figures.put("reduces' CPU with transport, s", JobRun::reduceCpuSeconds);
    figures.put("transport CPU per remote block, µs", JobRun::transportMicrosPerRemoteBlock);
    figures.put("fetch wait, s", JobRun::fetchWaitSeconds);
    return figures;
  }

  public static void main(String[] arguments) throws IOException {
    Map<String, List<JobRun>> groups = new LinkedHashMap<>();
    for (JobRun run : JobRun.ofFile(Path.of(arguments[0]))) {
      groups
          .computeIfAbsent(run.shape() + ", " + run.phase(), key -> new ArrayList<>())
          .add(run);
    }
    groups.forEach(JobReport::print);
  }

  private static void print(String title, List<JobRun> runs) {
    Map<Integer, JobRun> stock = new TreeMap<>();
    Map<Integer, JobRun> rdma = new TreeMap<>();
    for (JobRun run : runs) {
      (run.side().equals("rdma") ? rdma : stock).put(run.pair(), run);
    }
    List<Integer> pairs = stock.keySet().stream().filter(rdma::containsKey).toList();
    if (pairs.isEmpty()) {
      return;
    }
    boolean agree =
        runs.stream().map(run -> run.json().get("digest")).distinct().count() == 1;
    System.out.printf(
        "%n%s: %d pairs, %s%n%n",
        title, pairs.size(), agree ? "all results agree" : "RESULTS DIFFER");
    System.out.println("| figure | stock | rdma | stock / rdma (95 % interval) |");
    System.out.println("|---|---|---|---|");
    FIGURES.forEach((name, figure) -> System.out.printf(
        Locale.ROOT,
        "| %s | %.2f | %.2f | %s |%n",
        name,
        median(stock, pairs, figure),
        median(rdma, pairs, figure),
        Ratio.of(pairs.stream()
            .mapToDouble(pair -> figure.applyAsDouble(Objects.requireNonNull(stock.get(pair)))
                / figure.applyAsDouble(Objects.requireNonNull(rdma.get(pair))))
            .toArray())));
  }

  private static double median(
      Map<Integer, JobRun> runs, List<Integer> pairs, ToDoubleFunction<JobRun> figure) {
    return Ratio.median(pairs.stream()
        .mapToDouble(pair -> figure.applyAsDouble(Objects.requireNonNull(runs.get(pair))))
        .toArray());
  }
}
