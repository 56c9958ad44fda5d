/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * What a new application uses until the end of each of its first steps: the start of the driver and
 * of its executors; a task without a shuffle in each executor; a map output of each executor, for
 * which the plugin starts; a block that each executor fetches from the other one; and a whole job.
 */
final class FirstSteps {
  private final String driver;
  private final Map<String, Double> figures = new LinkedHashMap<>();
  private ExecutorCpu used = ExecutorCpu.NONE;
  private long sinceMs = ManagementFactory.getRuntimeMXBean().getStartTime();

  private FirstSteps(String driver) {
    this.driver = driver;
  }

  /** Takes the steps with the two executors of an application that has run nothing yet. */
  static Map<String, Object> take(JavaSparkContext spark, StageWatch stages, String driver, Job job)
      throws Exception {
    FirstSteps steps = new FirstSteps(driver);
    steps.ended("start");
    spark.parallelize(List.of(0, 1), 2).map(number -> number).collect();
    steps.ended("first tasks");
    JavaPairRDD<Integer, Integer> shuffled = smallShuffle(spark);
    writeOutputs(shuffled);
    steps.ended("first map outputs");
    shuffled.collect();
    steps.ended("first fetches");
    stages.requireRemoteBlocks(spark, 2);
    long result = job.run();
    ExecutorCpu all = steps.ended("first job");

    double driverS = ExecutorCpu.ofProcess(ProcessHandle.current().pid());
    steps.figures.put("driver's CPU, s", driverS);
    steps.figures.put("executors' CPU, s", all.seconds());
    all.minus(ExecutorCpu.NONE)
        .forEach((group, seconds) ->
            steps.figures.put("executors' CPU, " + group + " threads, s", seconds));
    steps.figures.put("CPU of all processes, s", driverS + all.seconds());
    steps.figures.put(
        "until the end of the first job, s",
        (steps.sinceMs - ManagementFactory.getRuntimeMXBean().getStartTime()) / 1e3);
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("digest", Long.toHexString(job.digest(result)));
    report.put("figures", steps.figures);
    report.put("executors", ExecutorProbe.ofAll(spark, all.executors()).values());
    return report;
  }

  /** A block from each of two maps for each of two reduces. */
  static JavaPairRDD<Integer, Integer> smallShuffle(JavaSparkContext spark) {
    return spark
        .parallelizePairs(
            List.of(new Tuple2<>(0, 0), new Tuple2<>(1, 0), new Tuple2<>(0, 1), new Tuple2<>(1, 1)),
            2)
        .partitionBy(new HashPartitioner(2));
  }

  /** Runs the map tasks of a shuffle, and nothing else. */
  static void writeOutputs(JavaPairRDD<?, ?> shuffled) throws SparkException {
    shuffled
        .rdd()
        .context()
        .submitMapStage(
            (ShuffleDependency<?, ?, ?>) shuffled.rdd().dependencies().head())
        .get();
  }

  private ExecutorCpu ended(String step) throws IOException {
    ExecutorCpu now = ExecutorCpu.now(driver);
    long nowMs = System.currentTimeMillis();
    figures.put(step + ", s", (nowMs - sinceMs) / 1e3);
    figures.put(step + ", executors' CPU, s", now.seconds() - used.seconds());
    used = now;
    sinceMs = nowMs;
    return now;
  }
}
