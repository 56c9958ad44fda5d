/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.package$;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.config.InvalidSettingException;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.device.RdmaUnavailableException;
import org.shufflerdma.reader.ReadRange;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;

/**
 * Adds RDMA to Spark's shuffle manager. As shuffle manager it opens the driver's part at the first
 * shuffle and the executor's part at the first writer or reader, and is closed with the manager.
 * Beneath another manager it opens them with the context and at the first task, and is closed with
 * Spark's plugin. Where RDMA cannot be used, Spark's own shuffle does everything, and the log says why.
 * Any thread may call.
 */
public final class ShufflePlugin implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  /** The prefix of the keys of all settings. */
  static final String PREFIX = "spark.shuffle.rdma.";

  private static final String MANAGER = "spark.shuffle.manager";
  private static final Set<String> MANAGERS =
      Set.of("RdmaShuffleManager", "org.apache.spark.shuffle.rdma.RdmaShuffleManager");

  private static final String DRIVER_IDENTIFIER = "driver";

  /**
   * For which tasks wait for RDMA to start, before they go on with Spark's own shuffle: more than a start
   * takes on a host that is busy with the first tasks of many executors.
   */
  private static final int PATIENCE_MS = 20_000;

  /** Longer than the two minutes that Spark gives the driver to answer by default. */
  private static final int REQUIRED_PATIENCE_MS = 180_000;

  private final RdmaSettings settings;
  private final boolean isManager;
  private final @Nullable String offReason;

  private final Object lock = new Object();
  // Guarded by lock.
  private @Nullable DriverSide driver;
  private boolean driverTried;
  private boolean closed;

  /** The executor's part, from the first writer or reader on. Written under lock. */
  private volatile @Nullable Start<ExecutorSide> executor;

  private ShufflePlugin(RdmaSettings settings, boolean isManager, @Nullable String offReason) {
    this.settings = settings;
    this.isManager = isManager;
    this.offReason = offReason;
  }

  /**
   * Checks versions and settings. Spark's environment may not exist yet.
   *
   * @throws IllegalArgumentException if a setting has a value that is not accepted, or if RDMA is required
   *     and this process knows already that there can be none
   */
  public static ShufflePlugin create(SparkConf conf, boolean isDriver) {
    return create(conf, isDriver, true);
  }

  /**
   * The same.
   *
   * @param isManager whether it is for the plugin's own shuffle manager. If executors could not, or should not, have that, the driver's conf
   *     names Spark's own afterwards
   */
  static ShufflePlugin create(SparkConf conf, boolean isDriver, boolean isManager) {
    try {
      return checkAndCreate(conf, isDriver, isManager, package$.MODULE$.SPARK_VERSION());
    } catch (IllegalArgumentException e) {
      // Spark buries this under the stack traces of its reflection.
      LOG.error("{}", e.getMessage());
      throw e;
    }
  }

  static ShufflePlugin checkAndCreate(
      SparkConf conf, boolean isDriver, boolean isManager, String sparkVersion) {
    List<String> notes = new ArrayList<>();
    RdmaSettings settings = settingsOf(conf, notes);
    String offReason = SparkCompatibility.reasonAgainstRdma(conf, settings);
    if (offReason == null && (isDriver || !isManager)) {
      offReason = SupportedVersions.reasonAgainstRdma(sparkVersion);
      if (offReason == null && isManager) {
        offReason = ExecutorClassPath.reasonAgainstRdma(sparkVersion, conf);
      }
      if (offReason != null && isManager) {
        conf.set(MANAGER, "sort"); // executors could not, or should not, have this one
      }
    }
    if (offReason != null && settings.required()) {
      throw new InvalidSettingException(
          "spark.shuffle.rdma.required=true, but RDMA cannot be used: " + offReason);
    }
    if (isDriver) {
      notes.forEach(LOG::warn);
      if (!settings.enabled()) {
        LOG.info("Shuffle blocks go by TCP: {}", offReason);
      } else if (offReason != null) {
        LOG.warn("Shuffle blocks go by TCP: {}", offReason);
      }
    }
    LOG.debug(
        "The {} of the {} has been created",
        isManager ? "RdmaShuffleManager" : "RdmaPlugin",
        isDriver ? "driver" : "executor");
    return new ShufflePlugin(settings, isManager, offReason);
  }

  /**
   * Returns the settings of the plugin.
   *
   * @param notes gets what the user should know of them
   * @throws InvalidSettingException if one has a value that is not accepted
   */
  static RdmaSettings settingsOf(SparkConf conf, List<String> notes) {
    Map<String, String> rdmaConf = new HashMap<>();
    for (Tuple2<String, String> entry : conf.getAllWithPrefix(PREFIX)) {
      rdmaConf.put(PREFIX + entry._1(), entry._2());
    }
    notes.addAll(SparkRdmaSettings.removeFrom(rdmaConf));
    return RdmaSettings.from(rdmaConf, PREFIX, notes::add);
  }

  /** Whether the settings name the plugin's shuffle manager. */
  static boolean namesManager(SparkConf conf) {
    return isNameOfManager(conf.get(MANAGER, "sort"));
  }

  static boolean isNameOfManager(String name) {
    return MANAGERS.contains(name);
  }

  /** Whether it is known already that there will be no RDMA. */
  boolean isOff() {
    return offReason != null;
  }

  /** Whether RDMA that cannot be used is to fail tasks. */
  boolean isRequired() {
    return settings.required();
  }

  /** Opens the driver's part. Called on the driver, before any task of the shuffle runs. */
  public void shuffleRegistered(SparkContext context) {
    if (offReason != null) {
      return;
    }
    synchronized (lock) {
      if (!driverTried && !closed && !context.isLocal()) {
        driver = openDriver(context); // throws, for every shuffle, where RDMA is required
        driverTried = true;
      }
    }
  }

  private @Nullable DriverSide openDriver(SparkContext context) {
    try {
      SparkMembers.requireAll();
      return DriverSide.open(context, SparkEnv.get(), settings, isManager);
    } catch (Throwable e) { // whatever it is, Spark's own shuffle does not need the driver's part
      if (settings.required()) {
        throw new IllegalStateException(
            "RDMA cannot be used and spark.shuffle.rdma.required=true: " + e.getMessage(), e);
      }
      if (e instanceof RdmaUnavailableException) {
        LOG.warn("Shuffle blocks go by TCP: {}", e.getMessage());
      } else {
        LOG.warn("Shuffle blocks go by TCP: the plugin's part on the driver cannot be opened", e);
      }
      return null;
    }
  }

  /**
   * A writer whose output is published where RDMA is in use; Spark's own where the plugin could not start.
   *
   * @param sparks makes the writer that Spark has for a handle, and notes the map output for its removal
   */
  public <K, V> ShuffleWriter<K, V> writer(
      ShuffleHandle handle,
      long mapId,
      TaskContext context,
      ShuffleWriteMetricsReporter metrics,
      IndexShuffleBlockResolver resolver,
      Function<ShuffleHandle, ShuffleWriter<K, V>> sparks) {
    ExecutorSide side = executor(resolver, context::killTaskIfInterrupted);
    return side == null
        ? sparks.apply(handle)
        : side.writer(handle, mapId, context, metrics, sparks);
  }

  /**
   * A reader by RDMA; Spark's own where RDMA cannot be used.
   *
   * @param sparks makes Spark's own reader
   */
  public <K, C> ShuffleReader<K, C> reader(
      ReadRange<K, C> range,
      ShuffleReadMetricsReporter metrics,
      IndexShuffleBlockResolver resolver,
      Supplier<ShuffleReader<K, C>> sparks) {
    ExecutorSide side = executor(resolver, range.context()::killTaskIfInterrupted);
    return side == null ? sparks.get() : side.reader(range, metrics, sparks);
  }

  /** The executor's part if it has started by now. */
  @Nullable
  ExecutorSide executorNow() {
    Start<ExecutorSide> start = executor;
    return start == null ? null : start.now();
  }

  public void shuffleRemoved(int shuffleId) {
    ExecutorSide side = executorNow();
    if (side != null) {
      side.shuffleRemoved(shuffleId);
    }
  }

  /**
   * Waits for the executor's part; null if there is none, or not yet.
   *
   * @param killCheck is called several times a second, and throws an exception if the task is to end
   */
  @Nullable
  ExecutorSide executor(IndexShuffleBlockResolver resolver, Runnable killCheck) {
    Start<ExecutorSide> start = beginStart(resolver);
    ExecutorSide side = start == null ? null : start.await(killCheck);
    if (side == null && settings.required() && start != null) {
      killCheck.run();
      throw new IllegalStateException(
          "RDMA cannot be used and spark.shuffle.rdma.required=true: it has not started");
    }
    return side;
  }

  /** Has the executor's part start, if it has not begun; null if there is none. */
  @Nullable
  Start<ExecutorSide> beginStart(IndexShuffleBlockResolver resolver) {
    Start<ExecutorSide> begun = executor;
    if (begun != null || offReason != null) {
      return begun;
    }
    SparkEnv env = SparkEnv.get();
    if (env.executorId().equals(DRIVER_IDENTIFIER)) {
      return null; // in local mode there is no peer to read from
    }
    synchronized (lock) {
      if (executor == null && !closed) {
        executor = Start.begin(
            () -> ExecutorSide.open(env, settings, resolver, isManager),
            Deadline.afterMs(settings.required() ? REQUIRED_PATIENCE_MS : PATIENCE_MS));
      }
      return executor;
    }
  }

  /** Does not wait for a start that is under way; what has started then is closed when it has. */
  @Override
  public void close() {
    synchronized (lock) {
      closed = true;
      Start<ExecutorSide> start = executor;
      executor = null;
      if (start != null) {
        start.close();
      }
      if (driver != null) {
        driver.close();
        driver = null;
      }
    }
  }
}
