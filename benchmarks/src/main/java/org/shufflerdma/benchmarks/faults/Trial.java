/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * One kind of numbers. The cluster is kept as long as the numbers can share it. The seed and the
 * number alone determine what a number does.
 */
abstract class Trial implements AutoCloseable {
  private final Path controls;
  private @Nullable Cluster cluster;
  private Map<String, String> settings = Map.of();

  Trial(Path controls) {
    this.controls = controls;
  }

  /**
   * Runs a number and returns its outcome. An exception other than that of a hang is a defect of
   * the campaign or the cluster.
   */
  abstract Verdict run(long number) throws Exception;

  /** Returns how many runs a number counts for. */
  int weight() {
    return 1;
  }

  /** Called with each new cluster, before its first number. */
  void begin(Cluster cluster) throws Exception {}

  /** Returns the cluster with these settings: the last one, or a new one in its place. */
  final Cluster clusterWith(Map<String, String> wanted) throws Exception {
    Cluster current = cluster;
    if (current == null || !settings.equals(wanted)) {
      endCluster();
      current = Cluster.start(controls, wanted);
      cluster = current;
      settings = wanted;
      begin(current);
    }
    return current;
  }

  /**
   * Waits for a job and judges its outcome.
   *
   * @param mayFail whether Spark may give up the job, as the fault hurts Spark itself
   */
  static Verdict judge(Cluster on, Shape shape, Future<Digest> job, String what, boolean mayFail)
      throws InterruptedException {
    try {
      Digest result = Cluster.result(job, Cluster.JOB_DEADLINE_MS);
      return result.equals(on.expected(shape))
          ? Verdict.right(what)
          : Verdict.wrong(what + ": " + result + " is not " + on.expected(shape));
    } catch (HungException e) {
      return new Verdict(Verdict.Kind.HUNG, what + ": " + e.getMessage());
    } catch (ExecutionException e) {
      return mayFail
          ? new Verdict(Verdict.Kind.SPARK_FAILURE, what + ": " + e.getCause())
          : Verdict.wrong(what + " failed a job that TCP would have finished: " + e.getCause());
    }
  }

  /** Logs what may explain the last number. */
  final void keepEvidence(Path directory) throws IOException {
    if (cluster != null) {
      cluster.keepEvidence(directory);
    }
  }

  /** Ends the cluster; the next number starts a new one. */
  final void endCluster() throws HungException {
    Cluster last = cluster;
    cluster = null;
    if (last != null) {
      last.close();
    }
  }

  @Override
  public void close() throws HungException {
    endCluster();
  }
}
