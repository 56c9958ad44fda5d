/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sparktests;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * The program behind bin/versions: runs shuffles on stock Spark and then, in applications of their
 * own on the master it was submitted to, on the plugin. Status 0: one result everywhere, and every
 * remote byte came by RDMA. With {@code --stock} it runs on stock Spark alone.
 */
public final class VersionsProgram {
  /** What Kryo can carry with the few classes that are registered. */
  private static final Set<ShuffleJob> KRYO_JOBS = EnumSet.of(
      ShuffleJob.REDUCE_BY_KEY, ShuffleJob.SORT_BY_KEY, ShuffleJob.MANY_PARTITIONS, ShuffleJob.SQL);

  private boolean good = true;

  private VersionsProgram() {}

  public static void main(String[] arguments) {
    VersionsProgram program = new VersionsProgram();
    Map<ShuffleJob, List<String>> expected = program.runOnStock();
    if (!List.of(arguments).contains("--stock")) {
      program.runOnRdma("java", EnumSet.allOf(ShuffleJob.class), expected, settings());
      program.runOnRdma("kryo", KRYO_JOBS, expected, withKryo(settings()));
    }
    System.exit(program.good ? 0 : 1);
  }

  private Map<ShuffleJob, List<String>> runOnStock() {
    SparkConf conf = settings().setMaster("local[2]").set("spark.shuffle.manager", "sort");
    Map<ShuffleJob, List<String>> results = new EnumMap<>(ShuffleJob.class);
    try (JavaSparkContext spark = new JavaSparkContext(conf)) {
      for (ShuffleJob job : ShuffleJob.values()) {
        List<String> result = job.run(spark);
        require(!result.isEmpty(), "stock: " + job + " gave nothing");
        results.put(job, result);
      }
    }
    return results;
  }

  private void runOnRdma(
      String name, Set<ShuffleJob> jobs, Map<ShuffleJob, List<String>> expected, SparkConf conf) {
    ShuffleWatch watch = new ShuffleWatch();
    try (JavaSparkContext spark = new JavaSparkContext(conf)) {
      spark.sc().addSparkListener(watch);
      for (ShuffleJob job : jobs) {
        require(job.run(spark).equals(expected.get(job)), name + ": " + job + " is not as stock");
      }
    }
    require(watch.allByRdma(), name + ": not every remote byte came by RDMA");
    System.out.println(name + " jobs=" + jobs.size() + " " + watch);
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
        .set("spark.shuffle.readHostLocalDisk", "false")
        .set("spark.ui.enabled", "false")
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
