/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.concurrent.Deadline;

/**
 * Runs shuffles without faults and checks that executors then hold what they held before: regions,
 * queue pairs, open files, mappings, and direct memory. One number is a group of shuffles. A first
 * group is not judged, since Spark itself still grows.
 */
final class LeakChecks extends Trial {
  private static final int WARM_UP = 20;
  private static final int SHUFFLES = 25;
  private static final int REST_MS = 60_000;
  private static final int POLL_MS = 500;

  /** Limits the temporary direct buffers that each of Spark's short-lived task threads would keep. */
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
    List<Holdings> now = settled(on);
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

  /**
   * Waits until the executors hold what they held before. What is there for a moment only, such as
   * the pipes of a process that starts, is no leak.
   */
  private List<Holdings> settled(Cluster cluster) throws Exception {
    Deadline deadline = Deadline.afterMs(REST_MS);
    List<Holdings> now = atRest(cluster);
    while (!now.equals(before) && !deadline.expired()) {
      TimeUnit.MILLISECONDS.sleep(POLL_MS);
      now = atRest(cluster);
    }
    return now;
  }

  /**
   * Returns what the executors hold at rest or, if they do not come to rest, at the end of the
   * wait.
   */
  private static List<Holdings> atRest(Cluster cluster) throws Exception {
    List<Holdings> busy = cluster.awaitRest(REST_MS);
    return busy.isEmpty() ? cluster.holdings(true) : busy;
  }
}
