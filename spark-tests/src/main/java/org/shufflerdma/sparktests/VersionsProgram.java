/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sparktests;

import java.io.IOException;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * The program behind bin/versions: runs shuffles on the plugin and then, in an application of its
 * own in this process, on stock Spark. Status 0: one result everywhere, every remote byte came by
 * RDMA, and nothing of the shuffles stayed. With {@code --no-rdma} no byte may come by RDMA instead. With {@code
 * --stock} it runs on stock Spark alone.
 */
public final class VersionsProgram {
  /** What Kryo can carry with the few classes that are registered. */
  private static final Set<ShuffleJob> KRYO_JOBS = EnumSet.of(
      ShuffleJob.REDUCE_BY_KEY, ShuffleJob.SORT_BY_KEY, ShuffleJob.MANY_PARTITIONS, ShuffleJob.SQL);

  private static final int LISTENERS_MS = 60_000;

  private boolean good = true;

  private VersionsProgram() {}

  public static void main(String[] arguments) {
    VersionsProgram program = new VersionsProgram();
    if (List.of(arguments).contains("--stock")) {
      program.runOnStock();
    } else if (List.of(arguments).contains("--no-rdma")) {
      program.compareWithoutRdma();
    } else {
      program.compare();
    }
    System.exit(program.good ? 0 : 1);
  }

  private void compare() {
    Map<ShuffleJob, List<String>> java =
        runOnPlugin("java", EnumSet.allOf(ShuffleJob.class), settings());
    Map<ShuffleJob, List<String>> kryo = runOnPlugin("kryo", KRYO_JOBS, withKryo(settings()));
    Map<ShuffleJob, List<String>> stock = runOnStock();
    java.forEach(
        (job, result) -> require(result.equals(stock.get(job)), job + " is not as on stock Spark"));
    kryo.forEach((job, result) ->
        require(result.equals(stock.get(job)), job + " with Kryo is not as on stock Spark"));
  }

  private void compareWithoutRdma() {
    ShuffleWatch watch = new ShuffleWatch();
    Map<ShuffleJob, List<String>> results;
    String application;
    try (JavaSparkContext spark = new JavaSparkContext(settings())) {
      spark.sc().addSparkListener(watch);
      results = run(EnumSet.allOf(ShuffleJob.class), spark);
      application = spark.sc().applicationId();
    }
    System.out.println("application=" + application + " " + watch);
    require(watch.allWithoutRdma(), "not every remote byte came without RDMA: " + watch);
    require(results.equals(runOnStock()), "a job is not as on stock Spark");
  }

  private Map<ShuffleJob, List<String>> runOnPlugin(
      String name, Set<ShuffleJob> jobs, SparkConf conf) {
    ShuffleWatch watch = new ShuffleWatch();
    Map<ShuffleJob, List<String>> results;
    String application;
    try (JavaSparkContext spark = new JavaSparkContext(conf)) {
      spark.sc().addSparkListener(watch);
      results = run(jobs, spark);
      require(Holdings.awaitRest(spark), "executors do not give back what they held: " + name);
      checkPage(name, spark, watch);
      application = spark.sc().applicationId();
    }
    System.out.println("application=" + application + " " + watch);
    require(watch.allByRdma(), "not every remote byte came by RDMA: " + name + " " + watch);
    System.out.println(name + " jobs=" + jobs.size() + " " + watch);
    return results;
  }

  private void checkPage(String name, JavaSparkContext spark, ShuffleWatch watch) {
    try {
      spark.sc().listenerBus().waitUntilEmpty(LISTENERS_MS);
      long shown = RdmaPage.remoteBytes(spark.sc().uiWebUrl().get());
      long ofExecutors = RdmaPage.remoteBytesOfExecutors(spark.sc().uiWebUrl().get());
      require(
          shown == watch.sparkRemoteBytes() && ofExecutors == shown,
          "the RDMA page has " + shown + " remote bytes, and " + ofExecutors + " of executors: "
              + name + " " + watch);
    } catch (IOException | TimeoutException e) {
      require(false, "there is no RDMA page: " + name + " " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private Map<ShuffleJob, List<String>> runOnStock() {
    SparkConf conf = settings()
        .set("spark.ui.enabled", "false")
        .set("spark.eventLog.enabled", "false")
        .setMaster("local[2]")
        .set("spark.shuffle.manager", "sort");
    try (JavaSparkContext spark = new JavaSparkContext(conf)) {
      return run(EnumSet.allOf(ShuffleJob.class), spark);
    }
  }

  private Map<ShuffleJob, List<String>> run(Set<ShuffleJob> jobs, JavaSparkContext spark) {
    Map<ShuffleJob, List<String>> results = new EnumMap<>(ShuffleJob.class);
    for (ShuffleJob job : jobs) {
      List<String> result = job.run(spark);
      require(!result.isEmpty(), job + " gave nothing");
      results.put(job, result);
    }
    return results;
  }

  private void require(boolean holds, String otherwise) {
    if (!holds) {
      good = false;
      System.out.println("WRONG " + otherwise);
    }
  }

  private static SparkConf settings() {
    return new SparkConf()
        .setAppName("versions")
        .set("spark.shuffle.rdma.device", "soft")
        .set("spark.shuffle.rdma.withdrawGrace", "100ms")
        .set("spark.shuffle.readHostLocalDisk", "false")
        .set("spark.ui.port", "0")
        .set("spark.sql.shuffle.partitions", "16")
        .set("spark.sql.autoBroadcastJoinThreshold", "-1")
        // All executors first: one that comes late would find every map done elsewhere.
        .set("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .set("spark.scheduler.maxRegisteredResourcesWaitingTime", "60s");
  }

  private static SparkConf withKryo(SparkConf conf) {
    return conf.set("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .set("spark.kryo.registrationRequired", "true");
  }
}
