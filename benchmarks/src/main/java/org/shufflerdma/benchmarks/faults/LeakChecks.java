/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Shuffles without faults, between which executors hold what they held before: regions, queue pairs,
 * open files, mappings, direct memory. A number is so many of them; before the first Spark itself
 * still grows.
 */
final class LeakChecks extends Trial {
  private static final int WARM_UP = 20;
  private static final int SHUFFLES = 25;
  private static final int REST_MS = 60_000;

  /** Spark's task threads come and go, and each would keep its last temporary direct buffers. */
  private static final Map<String, String> SETTINGS = Map.of(
      "spark.executor.extraJavaOptions",
      Cluster.EXECUTOR_OPTIONS + " -Djdk.nio.maxCachedBufferSize=0");

  private List<Holdings> before = List.of();

  LeakChecks(Path controls) {
    super(controls);
  }

  @Override
  Verdict run(long number) throws Exception {
    Cluster on = clusterWith(SETTINGS);
    for (int i = 0; i < SHUFFLES; i++) {
      Verdict verdict = shuffle(on, Shape.ALL.get(i % Shape.ALL.size()));
      if (verdict.isBad()) {
        return verdict;
      }
    }
    List<Holdings> now = atRest(on);
    return now.equals(before)
        ? Verdict.right(SHUFFLES + " shuffles")
        : Verdict.leaked("before: " + before + "; after: " + now);
  }

  @Override
  int weight() {
    return SHUFFLES;
  }

  private static Verdict shuffle(Cluster cluster, Shape shape) throws Exception {
    Digest result = cluster.within(Cluster.JOB_DEADLINE_MS, () -> shape.run(cluster.spark()));
    return result.equals(cluster.expected(shape))
        ? Verdict.right(shape.name())
        : Verdict.wrong(shape + " gave " + result);
  }

  @Override
  void begin(Cluster cluster) throws Exception {
    for (int i = 0; i < WARM_UP; i++) {
      shuffle(cluster, Shape.ALL.get(i % Shape.ALL.size()));
    }
    before = atRest(cluster);
  }

  /** Or, if they do not come to rest, as they are. */
  private static List<Holdings> atRest(Cluster cluster) throws Exception {
    List<Holdings> busy = cluster.awaitHoldings(REST_MS, Holdings::isAtRest);
    return busy.isEmpty() ? cluster.holdings(true) : busy;
  }
}
