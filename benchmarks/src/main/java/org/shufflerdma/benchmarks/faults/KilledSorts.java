/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.benchmarks.terasort.CheckedSort;

/**
 * Runs TeraSorts and kills an executor in each: when a map task has ended, or by the other
 * executor's device while it serves a READ of that executor.
 */
final class KilledSorts extends Trial {
  private static final int MAPS = 16;
  private static final int REDUCES = 16;
  private static final int PERCENT_IN_REDUCE = 75;
  private static final int DEADLINE_MS = 300_000;
  private static final int POLL_MS = 2;
  private static final int NUMBERS_A_CLUSTER = 10;

  /** A budget in which all outputs find room, and one in which most do not and are staged. */
  private static final List<Map<String, String>> SETTINGS =
      List.of(Map.of(), Map.of("spark.shuffle.rdma.maxRegisteredBytes", "16m"));

  private final long seed;
  private final Path directory;
  private final long records;
  private final Tally tally;
  private @Nullable CheckedSort sort;
  private long readsOfASort;

  KilledSorts(Path controls, long seed, Path directory, long records, Tally tally) {
    super(controls);
    this.seed = seed;
    this.directory = directory;
    this.records = records;
    this.tally = tally;
  }

  @Override
  Verdict run(long number) throws Exception {
    Random random = new Random(Digest.mix(seed) ^ Digest.mix(~number));
    Cluster on = clusterWith(SETTINGS.get((int) (number / NUMBERS_A_CLUSTER % SETTINGS.size())));
    CheckedSort sorted = Objects.requireNonNull(sort);
    boolean inReduce = random.nextInt(100) < PERCENT_IN_REDUCE;
    DeviceProcess one = on.executors().get(random.nextInt(on.executors().size()));
    long removedBefore = on.watch().executorsRemoved();
    String what;
    Verdict verdict;
    if (inReduce) {
      long read = 1 + (long) (random.nextDouble() * readsOfASort);
      what = "the peer of executor " + one.name() + " killed at READ " + read;
      one.command("set read:killpeer,remote,nth=" + read);
      verdict = judge(sorted, what, submit(on, sorted));
      if (one.isAlive()) {
        one.command("clear");
      }
    } else {
      int task = 1 + random.nextInt(MAPS);
      what = "executor " + one.name() + " killed after map task " + task;
      int before = on.watch().mapTasksEnded();
      Future<Boolean> job = submit(on, sorted);
      while (!job.isDone() && on.watch().mapTasksEnded() - before < task) {
        TimeUnit.MILLISECONDS.sleep(POLL_MS);
      }
      one.kill();
      verdict = judge(sorted, what, job);
    }
    on.awaitExecutors();
    if (on.watch().executorsRemoved() == removedBefore && !verdict.isBad()) {
      return Verdict.missed(what);
    }
    if (inReduce && !verdict.isBad()) {
      tally.add("terasort.reduce", 1);
    }
    return verdict;
  }

  @Override
  void begin(Cluster started) throws Exception {
    CheckedSort opened =
        CheckedSort.open("file://" + directory.resolve("terasort"), started.spark(), records, MAPS);
    sort = opened;
    for (DeviceProcess executor : started.executors()) {
      executor.command("set read:flip,nth=1000000000");
    }
    opened.sort(started.spark(), REDUCES);
    readsOfASort = Long.MAX_VALUE;
    for (DeviceProcess executor : started.executors()) {
      readsOfASort = Math.min(readsOfASort, executor.counts().get(0).seen());
      executor.command("clear");
    }
    String fault = opened.fault();
    if (fault != null) {
      throw new IllegalStateException("without a kill: " + fault);
    }
  }

  private static Future<Boolean> submit(Cluster cluster, CheckedSort sort) {
    return cluster.submit(() -> {
      sort.sort(cluster.spark(), REDUCES);
      return true;
    });
  }

  private static Verdict judge(CheckedSort sort, String what, Future<Boolean> job)
      throws Exception {
    try {
      Cluster.result(job, DEADLINE_MS);
    } catch (HungException e) {
      return new Verdict(Verdict.Kind.HUNG, what + ": " + e.getMessage());
    } catch (ExecutionException e) {
      return new Verdict(Verdict.Kind.SPARK_FAILURE, what + ": " + e.getCause());
    }
    String fault = sort.fault();
    return fault == null ? Verdict.right(what) : Verdict.wrong(what + ": " + fault);
  }
}
