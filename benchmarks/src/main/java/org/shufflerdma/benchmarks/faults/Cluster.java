/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * A local-cluster that is kept over many jobs. Spark replaces executors that are killed. One thread
 * uses it.
 */
final class Cluster implements AutoCloseable {
  private static final Pattern MASTER = Pattern.compile("local-cluster\\[(\\d+),(\\d+),\\d+]");

  /** A job that takes longer counts as hung. */
  static final int JOB_DEADLINE_MS = 120_000;

  /**
   * Most executors live for seconds, in which C2 and a parallel collector cost more than they save.
   */
  static final String EXECUTOR_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

  private static final int START_MS = 300_000;
  private static final int STOP_MS = 120_000;
  private static final int POLL_MS = 5;
  private static final int HOLDINGS_POLL_MS = 200;

  private final JavaSparkContext spark;
  private final Path controls;
  private final int executorCount;
  private final int slots;
  private final Watch watch = new Watch();
  private final ExecutorService jobs = Executors.newCachedThreadPool(Cluster::daemon);
  private final Map<Shape, Digest> expected = new EnumMap<>(Shape.class);
  private List<DeviceProcess> executors = List.of();

  private Cluster(JavaSparkContext spark, Path controls) {
    this.spark = spark;
    this.controls = controls;
    Matcher master = MASTER.matcher(spark.sc().master());
    if (!master.matches()) {
      throw new IllegalArgumentException(spark.sc().master() + " is not a " + MASTER);
    }
    this.executorCount = Integer.parseInt(master.group(1));
    this.slots = executorCount * Integer.parseInt(master.group(2));
    spark.sc().addSparkListener(watch);
    for (Shape shape : Shape.values()) {
      expected.put(shape, shape.expected());
    }
  }

  /**
   * @param controls an empty folder with a short name, for the control sockets of the devices
   * @param settings on top of those that bring a fault's consequences about within seconds
   */
  static Cluster start(Path controls, Map<String, String> settings) throws Exception {
    SparkConf conf = new SparkConf()
        .setAppName("faults")
        .setIfMissing("spark.shuffle.manager", "RdmaShuffleManager")
        .set("spark.shuffle.rdma.device", "soft")
        .set("spark.shuffle.rdma.connectTimeout", "2s")
        .set("spark.shuffle.rdma.fetchTimeout", "2s")
        .set("spark.shuffle.rdma.peerLostTimeout", "4s")
        .set("spark.shuffle.rdma.withdrawGrace", "100ms")
        .set("spark.shuffle.rdma.poolIdleTimeout", "5s")
        .set("spark.shuffle.readHostLocalDisk", "false")
        .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .set("spark.deploy.maxExecutorRetries", "-1")
        .set("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .set("spark.scheduler.maxRegisteredResourcesWaitingTime", "60s")
        .set("spark.executor.extraJavaOptions", EXECUTOR_OPTIONS)
        .set("spark.executorEnv.SOFTVERBS_FAULT_CONTROL", controls + "/%p");
    settings.forEach(conf::set);
    Cluster cluster = new Cluster(new JavaSparkContext(conf), controls);
    try {
      cluster.awaitExecutors();
      return cluster;
    } catch (Throwable t) {
      cluster.close();
      throw t;
    }
  }

  private static Thread daemon(Runnable body) {
    Thread thread = new Thread(body, "campaign-job");
    thread.setDaemon(true);
    return thread;
  }

  JavaSparkContext spark() {
    return spark;
  }

  Watch watch() {
    return watch;
  }

  /** Returns the executors as they were when {@link #awaitExecutors} returned. */
  List<DeviceProcess> executors() {
    return executors;
  }

  /** Waits until all executors run tasks and their devices listen. */
  void awaitExecutors() throws Exception {
    await(executorCount + " executors", () -> listeningAfterAJob());
    executors = DeviceProcess.executors(controls);
  }

  private boolean listeningAfterAJob() {
    if (!hasAllExecutors()) {
      return false;
    }
    if (DeviceProcess.executors(controls).stream().allMatch(DeviceProcess::isListening)) {
      return true;
    }
    try {
      within(JOB_DEADLINE_MS, () -> Shape.FEW_SMALL_BLOCKS.run(spark));
    } catch (Exception e) {
      return false;
    }
    return false;
  }

  /** Returns whether as many executors as there are processes for them have joined. */
  boolean hasAllExecutors() {
    return DeviceProcess.executors(controls).size() == executorCount
        && spark.sc().statusTracker().getExecutorInfos().length == executorCount + 1;
  }

  /** Waits until {@link #watch} has seen all that has happened. */
  void awaitEvents() throws HungException, InterruptedException {
    try {
      spark.sc().listenerBus().waitUntilEmpty(JOB_DEADLINE_MS);
    } catch (TimeoutException e) {
      throw new HungException("Spark's events are not delivered");
    }
  }

  private static void await(String what, BooleanSupplier condition) throws Exception {
    long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(START_MS);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadlineNs > 0) {
        throw new HungException("no " + what + " within " + START_MS + " ms");
      }
      TimeUnit.MILLISECONDS.sleep(POLL_MS);
    }
  }

  /** Kills all executors and waits for new ones. */
  void replaceExecutors() throws Exception {
    executors.forEach(DeviceProcess::kill);
    await("end of the executors", () -> executors.stream().noneMatch(DeviceProcess::isAlive));
    awaitExecutors();
  }

  Digest expected(Shape shape) {
    return Objects.requireNonNull(expected.get(shape));
  }

  <T> Future<T> submit(Callable<T> job) {
    return jobs.submit(job);
  }

  /** Returns the result of a job, or throws what made it fail. */
  static <T> T result(Future<T> job, int deadlineMs)
      throws HungException, InterruptedException, ExecutionException {
    try {
      return job.get(deadlineMs, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      throw new HungException("no end after " + deadlineMs + " ms");
    }
  }

  <T> T within(int deadlineMs, Callable<T> work)
      throws HungException, InterruptedException, ExecutionException {
    return result(jobs.submit(work), deadlineMs);
  }

  /** Returns what the executors hold; see {@link Holdings#ofExecutors}. */
  List<Holdings> holdings(boolean collected) throws Exception {
    return within(JOB_DEADLINE_MS, () -> Holdings.ofExecutors(spark, slots, collected));
  }

  /**
   * Waits until all executors hold no more than they may; otherwise returns those that hold more.
   */
  List<Holdings> awaitHoldings(int deadlineMs, Predicate<Holdings> accepted) throws Exception {
    long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(deadlineMs);
    while (true) {
      List<Holdings> others = holdings(false).stream().filter(accepted.negate()).toList();
      if (others.isEmpty() || System.nanoTime() - deadlineNs > 0) {
        return others;
      }
      TimeUnit.MILLISECONDS.sleep(HOLDINGS_POLL_MS);
    }
  }

  /** Waits until all executors are at rest; otherwise returns those that are not. */
  List<Holdings> awaitRest(int deadlineMs) throws Exception {
    return awaitHoldings(deadlineMs, holdings -> holdings.isAtRest(slots));
  }

  /** Saves the stacks of this JVM and of the executors, and the executors' logs. */
  void keepEvidence(Path directory) throws IOException {
    Evidence.keep(directory, spark.sc().applicationId(), DeviceProcess.executors(controls));
  }

  /** Ends the context and then all executors, whether or not the context ended them. */
  @Override
  public void close() throws HungException {
    List<DeviceProcess> last = DeviceProcess.executors(controls);
    try {
      within(STOP_MS, () -> {
        spark.close();
        return true;
      });
    } catch (HungException | ExecutionException e) {
      throw new HungException("the context did not stop: " + e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      last.forEach(DeviceProcess::kill);
      jobs.shutdownNow();
    }
  }
}
