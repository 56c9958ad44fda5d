/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.concurrent.Deadline;

/**
 * Reads shuffles one of whose executors was killed, from the node service, and strikes the service
 * or an executor that reads. No map may run again for it, and a service that was killed and started
 * again must be used again.
 */
final class OrphanedReads extends Trial {
  private static final int NUMBERS_A_CLUSTER = 10;
  private static final int EXECUTOR_GONE_MS = 120_000;
  private static final int SERVICE_USED_MS = 60_000;
  private static final int REST_MS = 60_000;
  private static final int POLL_MS = 20;
  private static final List<String> PATHS = List.of("file", "wire", "cma");

  /** What the service keeps registered for an application: its canary. */
  private static final long BYTES_AT_REST = 64 << 10;

  /** An executor also READs its own outputs, and how many tasks it gets differs from one read to the next. */
  private static final int READS_TO_ONE_OF_THE_SERVICE = 3;

  private static final int PERCENT_KILLED = 40;
  private static final int PERCENT_STOPPED = 20;

  private final long seed;
  private final NodeServiceProcess service;
  private final ShuffleService shuffleService;
  private final Map<String, String> settings = new HashMap<>();

  private OrphanedReads(
      Path controls, long seed, NodeServiceProcess service, ShuffleService shuffleService) {
    super(controls);
    this.seed = seed;
    this.service = service;
    this.shuffleService = shuffleService;
    settings.putAll(service.settings());
    settings.putAll(shuffleService.settings());
  }

  /** @param directory for what the node service keeps, and its log */
  static OrphanedReads open(Path controls, long seed, Path nodeServiceJar, Path directory)
      throws IOException {
    return new OrphanedReads(
        controls,
        seed,
        new NodeServiceProcess(nodeServiceJar, controls, directory),
        ShuffleService.open());
  }

  @Override
  Verdict run(long number) throws Exception {
    Random random = new Random(Digest.mix(seed) - Digest.mix(number));
    String path = PATHS.get((int) (number / NUMBERS_A_CLUSTER % PATHS.size()));
    service.start();
    settings.put("spark.executorEnv.SOFTVERBS_PATH", path);
    Cluster on = clusterWith(Map.copyOf(settings));
    Shape shape = Shape.ALL.get(random.nextInt(Shape.ALL.size()));
    Verdict verdict;
    try (Shape.Kept kept = shape.keep(on.spark())) {
      verdict = readOrphans(on, shape, kept, path, random);
    }
    if (verdict.isBad()) {
      return verdict;
    }
    on.awaitExecutors();
    return number % NUMBERS_A_CLUSTER == NUMBERS_A_CLUSTER - 1 ? atRest(on, verdict) : verdict;
  }

  private Verdict readOrphans(Cluster on, Shape shape, Shape.Kept kept, String path, Random random)
      throws Exception {
    int reader = random.nextInt(on.executors().size());
    DeviceProcess survivor = on.executors().get(reader);
    if (!isRight(on, shape, kept)) {
      return Verdict.wrong(path + " " + shape + " without a fault gave another result");
    }
    kill(on, on.executors().get(1 - reader));
    FaultCatalogue.beginCount(survivor);
    if (!isRight(on, shape, kept)) {
      return Verdict.wrong(path + " " + shape + " without its executor gave another result");
    }
    Map<String, Long> events = FaultCatalogue.endCount(survivor);
    Fault fault = draw(random, reader, path, events);
    String what = path + " " + shape + " without its executor, " + fault;

    int maps = on.watch().mapTasksEnded();
    List<DeviceProcess> processes = new ArrayList<>(on.executors());
    processes.add(service.device());
    Injection injection = new Injection(processes, fault);
    Future<Digest> job = injection.start(() -> on.submit(kept::read));
    Verdict verdict = judge(on, shape, job, what, false);
    on.awaitEvents();
    if (!verdict.isBad() && on.watch().mapTasksEnded() != maps) {
      verdict = Verdict.wrong(what + " made maps run again");
    }
    if (verdict.isBad()) {
      return verdict; // as it is, for whoever looks into it
    }
    boolean struck = injection.hasStruck();
    injection.end();
    if (!service.isAlive()) {
      service.start();
      if (!isUsed(on, kept)) {
        return Verdict.wrong(what + ": the service that was started again is not used");
      }
    }
    return struck ? verdict : Verdict.missed(what);
  }

  private static boolean isRight(Cluster on, Shape shape, Shape.Kept kept) throws Exception {
    return on.within(Cluster.JOB_DEADLINE_MS, kept::read).equals(on.expected(shape));
  }

  /** Kills an executor and waits until Spark knows of it and has another one. */
  private static void kill(Cluster on, DeviceProcess executor) throws Exception {
    int removed = on.watch().executorsRemoved();
    executor.kill();
    Deadline deadline = Deadline.afterMs(EXECUTOR_GONE_MS);
    while (on.watch().executorsRemoved() == removed || !on.hasAllExecutors()) {
      if (deadline.expired()) {
        throw new HungException("no other executor within " + EXECUTOR_GONE_MS + " ms");
      }
      TimeUnit.MILLISECONDS.sleep(POLL_MS);
    }
  }

  /** Draws a fault of the service, or one of the executor's that does not end a process or RDMA. */
  private static Fault draw(Random random, int reader, String path, Map<String, Long> events) {
    int percent = random.nextInt(100);
    long reads = events.getOrDefault("read", 1L) / READS_TO_ONE_OF_THE_SERVICE;
    long read = 1 + (long) (random.nextDouble() * reads);
    if (percent < PERCENT_KILLED) {
      return new Fault(reader, List.of(), "read:killpeer,remote,nth=" + read, null, false, false);
    }
    if (percent < PERCENT_KILLED + PERCENT_STOPPED) {
      String action = "continue " + (200 + random.nextInt(4_800));
      return new Fault(reader, List.of(), "read:stoppeer,remote,nth=" + read, action, false, false);
    }
    Fault fault;
    do {
      fault = FaultCatalogue.draw(random, 1, path, events);
    } while (fault.hurtsSpark() || fault.endsRdma());
    return new Fault(reader, fault.before(), fault.rule(), fault.action(), false, false);
  }

  /** Reads until all blocks come by RDMA, some of them from the service. */
  private static boolean isUsed(Cluster on, Shape.Kept kept) throws Exception {
    Deadline deadline = Deadline.afterMs(SERVICE_USED_MS);
    while (!deadline.expired()) {
      long fromService = on.watch().counter("nodeService.bytes");
      long byTcp = on.watch().counter("tcp.bytes");
      on.within(Cluster.JOB_DEADLINE_MS, kept::read);
      if (on.watch().counter("nodeService.bytes") > fromService
          && on.watch().counter("tcp.bytes") == byTcp) {
        return true;
      }
      TimeUnit.MILLISECONDS.sleep(POLL_MS);
    }
    return false;
  }

  /** Waits until neither the executors nor the service hold anything for a shuffle. */
  private Verdict atRest(Cluster on, Verdict verdict) throws Exception {
    List<Holdings> busy = on.awaitRest(REST_MS);
    if (!busy.isEmpty()) {
      return Verdict.leaked(verdict.text() + " and those before it: " + busy);
    }
    Deadline deadline = Deadline.afterMs(REST_MS);
    long registered = service.metric("registered_bytes");
    while (registered > BYTES_AT_REST && !deadline.expired()) {
      TimeUnit.MILLISECONDS.sleep(POLL_MS);
      registered = service.metric("registered_bytes");
    }
    return registered > BYTES_AT_REST
        ? Verdict.leaked(verdict.text() + " and those before it: " + registered
            + " bytes are registered by the node service")
        : verdict;
  }

  @Override
  public void close() throws HungException {
    try {
      super.close();
    } finally {
      service.close();
      shuffleService.close();
    }
  }
}
