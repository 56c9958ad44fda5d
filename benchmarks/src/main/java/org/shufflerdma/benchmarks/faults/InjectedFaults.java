/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.Future;
import org.apache.spark.SparkConf;

/** Runs small jobs, each with a fault. The kind of cluster changes after a fixed number of them. */
final class InjectedFaults extends Trial {
  private static final int NUMBERS_A_CLUSTER = 20;
  private static final int NUMBERS_A_CHECK = 20;
  private static final int REST_MS = 40_000;

  /** The path of READs, and the other settings of a kind of cluster. */
  private enum Setting {
    FILE("file", With.NOTHING),
    WIRE("wire", With.NOTHING),
    CMA("cma", With.NOTHING),
    CMA_SECURED("cma", With.SECURITY),
    WIRE_TIGHT("wire", With.TIGHT_LIMITS),
    CMA_STAGED("cma", With.SMALL_BUDGET),
    WIRE_STAGED("wire", With.SMALL_BUDGET),
    WIRE_STAGED_WIDE("wire", With.SMALL_BUDGET_AND_MANY_EXECUTORS),
    CMA_BENEATH("cma", With.SPARKS_MANAGER),
    WIRE_BENEATH("wire", With.SPARKS_MANAGER);

    private enum With {
      NOTHING,
      /** Authentication and encrypted files. */
      SECURITY,
      /** Lists of READs that wait, blocks that are streamed to files, map outputs that are spilled. */
      TIGHT_LIMITS,
      /** Outputs that find no room to be registered, and are staged. */
      SMALL_BUDGET,
      /** The same where each executor reads staged outputs of seven others at a time. */
      SMALL_BUDGET_AND_MANY_EXECUTORS,
      /** The plugin beneath Spark's own shuffle manager. */
      SPARKS_MANAGER
    }

    /** The shapes whose outputs are larger than a small budget. */
    private static final List<Shape> STAGED =
        List.of(Shape.LARGE_BLOCKS, Shape.SORTED, Shape.SHUFFLED_TWICE);

    private static final List<Setting> ALL = List.of(values());

    /** Those that go with the settings of DataFusion Comet, beneath whose shuffle manager the plugin is then. */
    private static final List<Setting> WITH_COMET =
        List.of(FILE, WIRE, CMA, CMA_STAGED, WIRE_STAGED);

    final String path;
    private final With with;

    Setting(String path, With with) {
      this.path = path;
      this.with = with;
    }

    Map<String, String> conf() {
      Map<String, String> conf = new HashMap<>();
      conf.put("spark.executorEnv.SOFTVERBS_PATH", path);
      if (with == With.SECURITY) {
        conf.put("spark.authenticate", "true");
        conf.put("spark.authenticate.secret", "the secret of the campaign");
        conf.put("spark.io.encryption.enabled", "true");
      } else if (with == With.TIGHT_LIMITS) {
        conf.put("spark.shuffle.rdma.maxRegisteredBytes", "3m");
        conf.put("spark.shuffle.rdma.poolBytes", "16m");
        conf.put("spark.shuffle.rdma.sendQueueDepth", "16");
        conf.put("spark.reducer.maxSizeInFlight", "1m");
        conf.put("spark.network.maxRemoteBlockSizeFetchToMem", "100k");
        conf.put("spark.memory.fraction", "0.002"); // of 700 MiB
      } else if (with == With.SPARKS_MANAGER) {
        conf.put("spark.shuffle.manager", "sort");
        conf.put("spark.plugins", "org.apache.spark.shuffle.rdma.RdmaPlugin");
      } else if (isStaged()) {
        conf.put("spark.shuffle.rdma.maxRegisteredBytes", "1536k");
        conf.put("spark.shuffle.rdma.stagingBytes", "384k");
      }
      if (isWide()) {
        conf.put("spark.master", "local-cluster[8,1,512]");
        conf.put("spark.executor.memory", "512m");
      }
      return conf;
    }

    boolean isTight() {
      return with == With.TIGHT_LIMITS;
    }

    boolean isStaged() {
      return with == With.SMALL_BUDGET || isWide();
    }

    private boolean isWide() {
      return with == With.SMALL_BUDGET_AND_MANY_EXECUTORS;
    }

    List<Shape> shapes(boolean onComet) {
      if (onComet) {
        return List.of(Shape.QUERY);
      }
      if (isWide()) {
        return List.of(Shape.ALL_TO_ALL);
      }
      return isStaged() ? STAGED : Shape.ALL;
    }

    static Setting of(long number, boolean onComet) {
      List<Setting> all = onComet ? WITH_COMET : ALL;
      return all.get((int) (number / NUMBERS_A_CLUSTER % all.size()));
    }
  }

  private final long seed;

  /** Whether the program was started with the settings of DataFusion Comet. */
  private final boolean onComet = new SparkConf().contains("spark.comet.shuffle.mode");

  private final Map<Shape, Map<String, Long>> events = new EnumMap<>(Shape.class);

  InjectedFaults(Path controls, long seed) {
    super(controls);
    this.seed = seed;
  }

  @Override
  Verdict run(long number) throws Exception {
    Random random = new Random(Digest.mix(seed) ^ Digest.mix(number));
    Setting setting = Setting.of(number, onComet);
    Cluster on = clusterWith(setting.conf());
    List<Shape> shapes = setting.shapes(onComet);
    Shape shape = shapes.get(random.nextInt(shapes.size()));
    Fault fault = FaultCatalogue.draw(
        random, on.executors().size(), setting.path, Objects.requireNonNull(events.get(shape)));
    String what = setting + " " + shape + ", " + fault;
    long fallbacks = on.watch().counter("fallback.breaker") + on.watch().counter("fallback.closed");
    Injection injection = new Injection(on.executors(), fault);
    Future<Digest> job = injection.start(() -> on.submit(() -> shape.run(on.spark())));
    Verdict verdict = judge(on, shape, job, what, fault.hurtsSpark());
    if (verdict.isBad()) {
      return verdict; // as it is, for whoever looks into it
    }
    if (!fault.hurtsSpark() && !on.executors().stream().allMatch(DeviceProcess::isAlive)) {
      return Verdict.wrong(what + " ended an executor");
    }
    if (!injection.hasStruck()) {
      verdict = Verdict.missed(what);
    }
    injection.end();
    on.awaitExecutors();
    if (fault.endsRdma()
        || fallbacks
            != on.watch().counter("fallback.breaker") + on.watch().counter("fallback.closed")) {
      on.replaceExecutors();
    }
    if (number % NUMBERS_A_CHECK == NUMBERS_A_CHECK - 1) {
      if (setting.isStaged() && on.watch().counter("staged.bytes") == 0) {
        throw new IllegalStateException("nothing was staged with " + setting);
      }
      if (setting.isTight() && on.watch().spilledBytes() == 0) {
        throw new IllegalStateException("nothing was spilled with " + setting);
      }
      List<Holdings> busy = on.awaitRest(REST_MS);
      return busy.isEmpty() ? verdict : Verdict.leaked(what + " and those before it: " + busy);
    }
    return verdict;
  }

  @Override
  void begin(Cluster cluster) throws Exception {
    if (events.isEmpty()) {
      requireRules(cluster.executors().get(0));
    }
    if (onComet) {
      Shape.requireComet(cluster.spark());
    }
    for (Shape shape : onComet ? List.of(Shape.QUERY) : Shape.ALL) {
      events.put(shape, countEvents(cluster, shape));
    }
  }

  /**
   * Tries all rules on the device, since an unknown one would only be found by the number that
   * draws it.
   */
  private static void requireRules(DeviceProcess executor) throws IOException {
    for (String rule : FaultCatalogue.rules()) {
      executor.command("set " + rule);
    }
    executor.command("clear");
  }

  /** Counts the events of a job without faults, on the executor that has fewer of them. */
  private static Map<String, Long> countEvents(Cluster cluster, Shape shape) throws Exception {
    for (DeviceProcess executor : cluster.executors()) {
      FaultCatalogue.beginCount(executor);
    }
    Digest result = cluster.within(Cluster.JOB_DEADLINE_MS, () -> shape.run(cluster.spark()));
    if (!result.equals(cluster.expected(shape))) {
      throw new IllegalStateException(shape + " without a fault gave " + result);
    }
    Map<String, Long> fewest = new HashMap<>();
    for (DeviceProcess executor : cluster.executors()) {
      FaultCatalogue.endCount(executor)
          .forEach((point, count) -> fewest.merge(point, count, Math::min));
    }
    return fewest;
  }
}
