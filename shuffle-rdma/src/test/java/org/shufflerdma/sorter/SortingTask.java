/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import scala.collection.Seq;

/** Runs code in a task of a local application, where a sorter has Spark's memory, disks and metrics. */
final class SortingTask {
  /** What the task does. */
  interface Body {
    void run() throws Exception;
  }

  private static final AtomicReference<Body> BODY = new AtomicReference<>(() -> {});

  private SortingTask() {}

  /** The task fails if memory is not given back at its end, and the test fails if a file is left. */
  static void run(Map<String, String> settings, Body body) {
    run(settings, body, () -> {});
  }

  /** @param afterwards runs when the task has ended, and before the test looks for files */
  static void run(Map<String, String> settings, Body body, Runnable afterwards) {
    SparkConf conf = new SparkConf(false)
        .setMaster("local[1]")
        .setAppName("sorting")
        .set("spark.ui.enabled", "false")
        .set("spark.driver.bindAddress", "127.0.0.1")
        .set("spark.driver.host", "127.0.0.1")
        .set("spark.unsafe.exceptionOnMemoryLeak", "true");
    settings.forEach(conf::set);
    BODY.set(body);
    try (JavaSparkContext context = new JavaSparkContext(conf)) {
      context
          .parallelize(List.of(0), 1)
          .foreach(one -> Objects.requireNonNull(BODY.get()).run());
      afterwards.run();
      Seq<?> files = SparkEnv.get().blockManager().diskBlockManager().getAllFiles();
      assertThat(files.isEmpty()).as("no files are left: %s", files).isTrue();
    }
  }
}
