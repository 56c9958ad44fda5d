/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * The driver of one of the applications. It runs a job for each line {@code job SHAPE ROWS} of its
 * standard input and a {@link TpcdsQuery} for {@code query NAME SCALE}, takes the {@link FirstSteps} for
 * {@code start SHAPE ROWS} and the {@link MemorySteps} for {@code memory MAPS REDUCES ROWS}, and answers
 * with a line of JSON; it ends with its input.
 *
 * <p>Argument: a folder where jobs may keep files.
 */
public final class JobServer {
  private static final int EXECUTORS = 2;

  private JobServer() {}

  public static void main(String[] arguments) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err); // what Spark or a job prints is no answer
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
      StageWatch stages = new StageWatch();
      spark.sc().addSparkListener(stages);
      String driver =
          spark.getConf().get("spark.driver.host") + ":" + spark.getConf().get("spark.driver.port");
      BufferedReader orders =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      ObjectMapper json = new ObjectMapper();
      answer(answers, json.writeValueAsString(Map.of("ready", spark.sc().applicationId())));
      for (String order = orders.readLine(); order != null; order = orders.readLine()) {
        String[] words = order.split(" ", -1);
        if (words[0].equals("memory")) {
          Map<String, Object> report = MemorySteps.take(
              spark,
              stages,
              Integer.parseInt(words[1]),
              Integer.parseInt(words[2]),
              Long.parseLong(words[3]));
          report.put("settings", ApplicationSettings.of(spark));
          answer(answers, json.writeValueAsString(report));
          continue;
        }
        Job job = words[0].equals("query")
            ? TpcdsQuery.prepare(spark, Path.of(arguments[0]), words[1], words[2])
            : JobShape.ofLabel(words[1]).prepare(spark, arguments[0], Long.parseLong(words[2]));
        Map<String, Object> report = words[0].equals("start")
            ? FirstSteps.take(spark, stages, driver, job)
            : run(spark, stages, driver, job);
        report.put("settings", ApplicationSettings.of(spark));
        answer(answers, json.writeValueAsString(report));
      }
    }
  }

  private static void answer(PrintStream answers, String line) {
    answers.println(line);
    answers.flush();
  }

  private static Map<String, Object> run(
      JavaSparkContext spark, StageWatch stages, String driver, Job job) throws Exception {
    stages.takeAll(spark); // those that made the job's input
    ExecutorCpu before = ExecutorCpu.now(driver);
    long startNs = System.nanoTime();
    long result = job.run();
    long wallNs = System.nanoTime() - startNs;
    ExecutorCpu after = ExecutorCpu.now(driver);
    if (after.executors() != EXECUTORS) {
      throw new IllegalStateException(
          after.executors() + " executors are there instead of " + EXECUTORS);
    }
    List<Map<String, Object>> ended = stages.takeAll(spark);
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("digest", Long.toHexString(job.digest(result)));
    report.put("wall_s", wallNs / (double) TimeUnit.SECONDS.toNanos(1));
    report.put("executor_cpu_s", after.seconds() - before.seconds());
    report.put("thread_cpu_s", after.minus(before));
    report.put("stages", ended);
    return report;
  }
}
