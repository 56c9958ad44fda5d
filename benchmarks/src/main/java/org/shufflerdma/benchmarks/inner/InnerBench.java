/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.inner;

import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;
import org.shufflerdma.benchmarks.fetch.ReadLoops;
import org.shufflerdma.benchmarks.report.ResultLog;
import org.shufflerdma.benchmarks.report.Run;

/**
 * Measures the inner loops by JMH. A round is a new JVM for each loop, and each loop of a round is a
 * line in the file of results.
 *
 * <p>Arguments: RESULTS COMMIT DIRECTORY ROUNDS
 */
public final class InnerBench {
  private static final String BENCHMARK = "inner";
  private static final int WARM_UPS = 3;
  private static final int ITERATIONS = 5;
  private static final int ITERATION_MS = 200;

  private InnerBench() {}

  public static void main(String[] arguments) throws Exception {
    ResultLog results = ResultLog.open(Path.of(arguments[0]), arguments[1]);
    int rounds = Integer.parseInt(arguments[3]);
    for (int round = 0; round < rounds; round++) {
      if (results.hasApplication(BENCHMARK, round, Run.PLUGIN)) {
        continue;
      }
      for (RunResult loop : new Runner(options(arguments[2])).run()) {
        String scenario = scenario(loop.getParams());
        Map<String, Double> figures = figures(loop);
        results.add(new Run(BENCHMARK, scenario, round, 0, Run.PLUGIN, "", figures), Map.of());
        System.err.printf(Locale.ROOT, "%s %d: %s%n", scenario, round, figures);
      }
    }
  }

  private static Options options(String directory) {
    return new OptionsBuilder()
        .include(DescriptorLoops.class.getName())
        .include(MapStatusLoops.class.getName())
        .include(ReadLoops.class.getName())
        .include(TimeLoops.class.getName())
        .mode(Mode.AverageTime)
        .timeUnit(TimeUnit.NANOSECONDS)
        .forks(1)
        .jvmArgsAppend("-D" + ReadLoops.DIRECTORY + "=" + directory)
        .warmupIterations(WARM_UPS)
        .warmupTime(TimeValue.milliseconds(ITERATION_MS))
        .measurementIterations(ITERATIONS)
        .measurementTime(TimeValue.milliseconds(ITERATION_MS))
        .addProfiler(GCProfiler.class)
        .shouldFailOnError(true)
        .verbosity(VerboseMode.SILENT)
        .build();
  }

  /** Such as {@code readList, depth=64, readBytes=1024}. */
  private static String scenario(BenchmarkParams params) {
    Collection<String> keys = params.getParamsKeys();
    Map<String, String> values = new TreeMap<>();
    keys.forEach(key -> values.put(key, params.getParam(key)));
    String method = params.getBenchmark().replaceFirst(".*\\.(\\w+\\.\\w+)$", "$1");
    return values.isEmpty() ? method : method + ", " + values.toString().replaceAll("[{}]", "");
  }

  private static Map<String, Double> figures(RunResult loop) {
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put("time, ns", loop.getPrimaryResult().getScore());
    Result<?> allocated = loop.getSecondaryResults().get("gc.alloc.rate.norm");
    if (allocated != null) {
      figures.put("objects, bytes", allocated.getScore());
    }
    return figures;
  }
}
