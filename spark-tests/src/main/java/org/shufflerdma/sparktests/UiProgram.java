/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sparktests;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import scala.Tuple2;

/**
 * The program behind bin/ui-screenshots: shuffles, a part of it staged, prints where its UI is and what its RDMA page must have, and stays
 * until a file exists.
 */
public final class UiProgram {
  private static final int DEADLINE_S = 300;
  private static final int LISTENERS_MS = 60_000;
  private static final int TASKS = 16;
  private static final int RECORDS = 40_000;
  private static final int RECORD_BYTES = 100;

  private UiProgram() {}

  /** Collects the stages that have read from other executors. */
  private static final class Readers extends SparkListener {
    private final Set<Integer> stages = ConcurrentHashMap.newKeySet();

    @Override
    public void onTaskEnd(SparkListenerTaskEnd ended) {
      if (ended.taskMetrics().shuffleReadMetrics().remoteBytesRead() > 0) {
        stages.add(ended.stageId());
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    Path end = Path.of(arguments[0]);
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
      Readers readers = new Readers();
      spark.sc().addSparkListener(readers);
      for (int i = 1; i <= 3; i++) {
        sort(spark, i * RECORDS);
        words(spark, i * RECORDS);
      }
      spark.sc().listenerBus().waitUntilEmpty(LISTENERS_MS);
      System.out.println("application=" + spark.sc().applicationId() + " stages="
          + readers.stages.size() + " ui=" + spark.sc().uiWebUrl().get());
      long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_S);
      while (!Files.exists(end) && System.nanoTime() - deadlineNs < 0) {
        TimeUnit.MILLISECONDS.sleep(100);
      }
    }
  }

  private static JavaRDD<Integer> tasks(JavaSparkContext spark) {
    return spark.parallelize(IntStream.range(0, TASKS).boxed().toList(), TASKS);
  }

  /** Records that compress badly. */
  private static void sort(JavaSparkContext spark, int records) {
    tasks(spark)
        .flatMapToPair(task -> {
          Random random = new Random(task);
          return IntStream.range(0, records / TASKS)
              .mapToObj(i -> {
                byte[] value = new byte[RECORD_BYTES];
                random.nextBytes(value);
                return new Tuple2<>(random.nextLong(), value);
              })
              .iterator();
        })
        .sortByKey(true, TASKS)
        .foreachPartition(UiProgram::consume);
  }

  /** Few bytes of many words. */
  private static void words(JavaSparkContext spark, int records) {
    tasks(spark)
        .flatMapToPair(task -> IntStream.range(0, records / TASKS)
            .mapToObj(i -> new Tuple2<>("word " + i % 997, 1L))
            .iterator())
        .reduceByKey(Long::sum, TASKS)
        .foreachPartition(UiProgram::consume);
  }

  private static void consume(Iterator<?> records) {
    records.forEachRemaining(record -> {});
  }
}
