/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import com.codahale.metrics.Gauge;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.metrics.source.Source;
import scala.jdk.javaapi.CollectionConverters;

/** What an executor knows of itself, taken by a task in it. */
final class ExecutorProbe {
  private static final int ATTEMPTS = 20;
  private static final Pattern START =
      Pattern.compile("RDMA started in \\d+ \\((\\d+)\\) ms: (.*)");
  private static final Pattern PHASE = Pattern.compile("([a-z ]+) (\\d+) \\((\\d+)\\)");

  private ExecutorProbe() {}

  /**
   * Asks every executor, each of which must have one core and nothing to do.
   *
   * @return the figures by executor
   */
  static Map<String, JsonNode> ofAll(JavaSparkContext spark, int executors) throws IOException {
    Map<String, JsonNode> answers = new TreeMap<>();
    List<Integer> tasks = IntStream.range(0, executors).boxed().toList();
    for (int i = 0; answers.size() < executors; i++) {
      if (i == ATTEMPTS) {
        throw new IllegalStateException("only " + answers.keySet() + " took a task");
      }
      for (String json : spark.parallelize(tasks, executors).map(task -> take()).collect()) {
        JsonNode answer = new ObjectMapper().readTree(json);
        answers.put(answer.get("executor").asText(), answer);
      }
    }
    return answers;
  }

  /** Returns the figures of this executor as JSON. */
  static String take() throws IOException {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("executor", SparkEnv.get().executorId());
    answer.put("jit_s", ManagementFactory.getCompilationMXBean().getTotalCompilationTime() / 1e3);
    answer.put("classes", ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount());
    System.gc();
    answer.put(
        "heap_bytes", ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
    answer.put("status_kb", status());
    answer.put("counts", counts());
    answer.put("start_cpu_ms", startPhases());
    return new ObjectMapper().writeValueAsString(answer);
  }

  /** What the kernel says of the process's memory (proc(5), {@code status}). */
  private static Map<String, Long> status() throws IOException {
    Map<String, Long> sizes = new TreeMap<>();
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      String[] words = line.split("[:\\s]+", -1);
      if (words.length == 3 && words[2].equals("kB")) {
        sizes.put(words[0], Long.parseLong(words[1]));
      }
    }
    return sizes;
  }

  /** The plugin's counts that are not 0. */
  private static Map<String, Long> counts() {
    Map<String, Long> counts = new TreeMap<>();
    for (Source source : CollectionConverters.asJava(
        SparkEnv.get().metricsSystem().getSourcesByName("shuffleRdma"))) {
      source.metricRegistry().getGauges().forEach((name, gauge) -> {
        if (((Gauge<?>) gauge).getValue() instanceof Long value && value != 0) {
          counts.put(name, value);
        }
      });
    }
    return counts;
  }

  /** CPU time of the phases of the plugin's start, which it logs; empty without it. */
  private static Map<String, Double> startPhases() throws IOException {
    Map<String, Double> phases = new LinkedHashMap<>();
    Path log = Path.of("stderr"); // Spark's workers run executors in the folder of their logs
    if (Files.exists(log)) {
      Matcher start = START.matcher(Files.readString(log));
      if (start.find()) {
        Matcher phase = PHASE.matcher(start.group(2));
        while (phase.find()) {
          phases.merge(phase.group(1).strip(), Double.valueOf(phase.group(3)), Double::sum);
        }
      }
    }
    return phases;
  }
}
