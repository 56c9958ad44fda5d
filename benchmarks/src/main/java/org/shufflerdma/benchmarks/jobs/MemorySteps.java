/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongPredicate;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * How much memory the two executors of an application have at some points of a shuffle: the sums over
 * both, after a garbage collection in each.
 */
final class MemorySteps {
  private static final List<String> SIZES =
      List.of("VmRSS", "RssAnon", "RssFile", "RssShmem", "VmLck", "VmPin");
  private static final String REGISTERED = "shuffle.rdma.registeredBytes";
  private static final int EXECUTORS = 2;
  private static final int READING_PROBES = 16;
  private static final long REGISTRATION_MS = 30_000;
  private static final double MIB = 1 << 20;
  private static final double KIB = 1 << 10;

  private final JavaSparkContext spark;
  private final Map<String, Double> figures = new LinkedHashMap<>();

  private MemorySteps(JavaSparkContext spark) {
    this.spark = spark;
  }

  /** Shuffles so many records from {@code maps} to {@code reduces} tasks. */
  static Map<String, Object> take(
      JavaSparkContext spark, StageWatch stages, int maps, int reduces, long rows)
      throws Exception {
    MemorySteps steps = new MemorySteps(spark);
    FirstSteps.smallShuffle(spark).collect();
    Map<String, JsonNode> atRest = steps.ask();
    long registeredAtRest = registeredOutputs(atRest);
    double heapAtRest = steps.reached("at rest", atRest);
    stages.takeAll(spark);

    JavaPairRDD<Key, byte[]> shuffled = RowJobs.moved(spark, rows, maps, reduces);
    FirstSteps.writeOutputs(shuffled);
    long written = stages.takeAll(spark).stream()
        .mapToLong(stage -> (Long) stage.get("written_bytes"))
        .sum();
    double heapWithOutputs =
        steps.reached("published", steps.askUntil(registered -> registered >= written));

    int probeEvery = Math.max(1, reduces / READING_PROBES);
    Map<String, JsonNode> reading = new TreeMap<>();
    long count = 0;
    for (String told : shuffled
        .mapPartitionsWithIndex(
            (index, records) -> {
              List<String> answer = new ArrayList<>();
              long read = 0;
              while (records.hasNext()) {
                records.next();
                if (read++ == 0 && index % probeEvery == 0) {
                  answer.add(ExecutorProbe.take());
                }
              }
              answer.add(Long.toString(read));
              return answer.iterator();
            },
            false)
        .collect()) {
      JsonNode json = new ObjectMapper().readTree(told);
      if (json.isNumber()) {
        count += json.asLong();
      } else {
        reading.merge(json.get("executor").asText(), json, MemorySteps::larger);
      }
    }
    if (count != rows) {
      throw new IllegalStateException(count + " records came instead of " + rows);
    }
    steps.reached("reading", reading);
    double heapAfterReading = steps.reached("read", steps.ask());
    steps.figures.put("heap per output, KiB", (heapWithOutputs - heapAtRest) * KIB / maps);
    steps.figures.put(
        "heap per output that was read, KiB", (heapAfterReading - heapWithOutputs) * KIB / maps);
    shuffled.rdd().cleanShuffleDependencies(true);
    steps.reached("removed", steps.askUntil(registered -> registered <= registeredAtRest));
    return new LinkedHashMap<>(
        Map.of("digest", Long.toString(count), "figures", steps.figures, "written", written));
  }

  private static JsonNode larger(JsonNode one, JsonNode other) {
    return registered(one) >= registered(other) ? one : other;
  }

  private static long registered(JsonNode executor) {
    return executor.path("counts").path(REGISTERED).asLong();
  }

  private static long registeredOutputs(Map<String, JsonNode> executors) {
    return executors.values().stream()
        .mapToLong(executor ->
            executor.path("counts").path("shuffle.rdma.outputs.registeredBytes").asLong())
        .sum();
  }

  /** Asks both executors, which collect their garbage first. */
  private Map<String, JsonNode> ask() throws IOException {
    return ExecutorProbe.ofAll(spark, EXECUTORS);
  }

  /**
   * Asks once the bytes of registered outputs are as they should be, where the plugin is. Registration goes on after the tasks, and
   * deregistration comes some time after Spark has removed the shuffle.
   */
  private Map<String, JsonNode> askUntil(LongPredicate right) throws IOException {
    long deadlineMs = System.currentTimeMillis() + REGISTRATION_MS;
    while (true) {
      Map<String, JsonNode> executors = ask();
      boolean stock = executors.values().stream().allMatch(each -> registered(each) == 0);
      long registered = registeredOutputs(executors);
      if (stock || right.test(registered)) {
        return executors;
      }
      if (System.currentTimeMillis() > deadlineMs) {
        throw new IllegalStateException(
            registered + " bytes of outputs are still registered after " + REGISTRATION_MS + " ms");
      }
    }
  }

  /** Adds the figures of a step, and returns the heap in MiB. */
  private double reached(String step, Map<String, JsonNode> executors) {
    double heap = 0;
    for (JsonNode executor : executors.values()) {
      add(step + ": registered, MiB", registered(executor) / MIB);
      for (String size : SIZES) {
        add(step + ": " + size + ", MiB", executor.get("status_kb").path(size).asLong() / KIB);
      }
      heap += executor.get("heap_bytes").asLong() / MIB;
    }
    figures.put(step + ": heap, MiB", heap);
    return heap;
  }

  private void add(String figure, double value) {
    figures.merge(figure, value, Double::sum);
  }
}
