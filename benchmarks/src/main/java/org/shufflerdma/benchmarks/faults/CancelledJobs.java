/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Cancels jobs while READs of theirs are outstanding, because the device withholds completions or,
 * on the wire, the bytes. The next job must be right, and within ten seconds no buffer may be a
 * zombie.
 */
final class CancelledJobs extends Trial {
  private static final int NUMBERS_A_CLUSTER = 100;
  private static final int ZOMBIES_GONE_MS = 10_000;
  private static final int POLL_MS = 1;
  private static final List<String> PATHS = List.of("file", "wire", "cma");
  private static final List<Shape> SHAPES = List.of(
      Shape.MANY_TINY_BLOCKS,
      Shape.LARGE_BLOCKS,
      Shape.SORTED,
      Shape.MANY_INPUTS,
      Shape.SECOND_THREAD);

  private final long seed;

  CancelledJobs(Path controls, long seed) {
    super(controls);
    this.seed = seed;
  }

  @Override
  Verdict run(long number) throws Exception {
    Random random = new Random(Digest.mix(seed) + Digest.mix(number));
    String path = PATHS.get((int) (number / NUMBERS_A_CLUSTER % PATHS.size()));
    Cluster on = clusterWith(Map.of("spark.executorEnv.SOFTVERBS_PATH", path));
    Shape shape = SHAPES.get(random.nextInt(SHAPES.size()));
    String hold = hold(random, path);
    boolean interrupt = random.nextBoolean();
    Shape next = Shape.ALL.get(random.nextInt(Shape.ALL.size()));
    String what = "%s %s, %s, %s".formatted(path, shape, hold, interrupt ? "interrupted" : "told");
    for (DeviceProcess executor : on.executors()) {
      executor.command("set " + hold);
    }
    String group = "cancel-" + number;
    Future<Digest> job = on.submit(() -> {
      on.spark().setJobGroup(group, what, interrupt);
      try {
        return shape.run(on.spark());
      } finally {
        on.spark().clearJobGroup();
      }
    });
    boolean held = false;
    while (!held && !job.isDone()) {
      TimeUnit.MILLISECONDS.sleep(POLL_MS);
      for (DeviceProcess executor : on.executors()) {
        held |= executor.counts().get(0).hits() > 0;
      }
    }
    on.spark().cancelJobGroup(group);
    boolean cancelled = isCancelled(job);
    for (DeviceProcess executor : on.executors()) {
      executor.command("clear");
    }
    Digest result = on.within(Cluster.JOB_DEADLINE_MS, () -> next.run(on.spark()));
    if (!result.equals(on.expected(next))) {
      return Verdict.wrong("after " + what + ": " + next + " gave " + result);
    }
    List<Holdings> zombies = on.awaitHoldings(
        ZOMBIES_GONE_MS, holdings -> holdings.zombieBytes() == 0 && holdings.leasedBytes() == 0);
    if (!zombies.isEmpty()) {
      return Verdict.leaked(what + ": " + zombies);
    }
    return held && cancelled ? Verdict.right(what) : Verdict.missed(what);
  }

  /** Returns the rule that keeps READs outstanding from some READ of the job on. */
  private static String hold(Random random, String path) {
    int from = 1 + random.nextInt(12);
    int ms = 50 + random.nextInt(1_000);
    String point = path.equals("wire") && random.nextBoolean()
        ? "frame:op=READ_DATA"
        : "completion:opcode=READ";
    return "%s,delay=%d,nth=%d,count=all".formatted(point, ms, from);
  }

  private static boolean isCancelled(Future<Digest> job)
      throws HungException, InterruptedException {
    try {
      Cluster.result(job, Cluster.JOB_DEADLINE_MS);
      return false;
    } catch (ExecutionException e) {
      return String.valueOf(e.getCause()).contains("cancelled");
    }
  }
}
