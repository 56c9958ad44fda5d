/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

/** The one sentence or two on an application. */
final class Verdict {
  /** Applications differ from one start to the next by as much. */
  private static final double LEAST_PERCENT = 5;

  private static final String NOTHING = "Nothing to gain here: ";

  private Verdict() {}

  private static boolean ranWithThePlugin(SparkProperties properties) {
    return properties.get("spark.shuffle.manager", "").endsWith("RdmaShuffleManager")
        || properties.get("spark.plugins", "").contains("RdmaPlugin");
  }

  private static boolean ranInOneProcess(SparkProperties properties) {
    String master = properties.get("spark.master", "");
    return master.startsWith("local") && !master.startsWith("local-cluster");
  }

  /** Whether the application ran in such a way that the bound means something. */
  static boolean isBounded(SparkProperties properties) {
    return !ranWithThePlugin(properties) && !ranInOneProcess(properties);
  }

  static String of(Findings findings) {
    Application application = findings.application();
    SparkProperties properties = application.properties();
    double most = findings.mostPercent();
    if (ranWithThePlugin(properties)) {
      return "No estimate: the application ran with shuffle-rdma already. Give the log of a run with Spark's own shuffle.";
    } else if (application.tasks() == 0) {
      return "No estimate: no task has ended in this log.";
    } else if (findings.stages().isEmpty()) {
      return NOTHING + "no stage wrote or read a shuffle.";
    } else if (ranInOneProcess(properties)) {
      return NOTHING + "the application ran in one process (spark.master="
          + properties.get("spark.master", "") + "), which has nobody to read from.";
    } else if (most < LEAST_PERCENT) {
      return NOTHING + "at most " + Units.percent(most) + " of the " + Units.time(findings.busyMs())
          + " for which stages ran, which is less than two runs of one application differ by"
          + why(findings) + ".";
    }
    return "At most " + Units.percent(most) + " of the " + Units.time(findings.busyMs())
        + " for which stages ran could be saved: at most "
        + Units.percent(findings.percent(StageGain::transportMs)) + " by the transport, "
        + Units.percent(findings.percent(StageGain::writerMs))
        + " by the writer of map outputs and "
        + Units.percent(findings.percent(StageGain::sorterMs))
        + " by the sorter. This is an upper bound, not a forecast; a trial tells what comes of it.";
  }

  private static String why(Findings findings) {
    long remote = findings.sum(TaskMetric.REMOTE_BLOCKS);
    if (remote == 0) {
      return "; no block came from another host";
    }
    double each = (double) findings.sum(TaskMetric.REMOTE_BYTES) / remote;
    return "; tasks waited " + Units.time(findings.sum(TaskMetric.FETCH_WAIT_MS)) + " for "
        + Units.count(remote) + " remote blocks of " + Units.bytes(each) + " on average";
  }
}
