/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleManager;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.beneath.AskedLocations;
import org.shufflerdma.beneath.BlockManagerClient;
import org.shufflerdma.beneath.FrontClient;
import org.shufflerdma.device.RdmaUnavailableException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The executor's part under another shuffle manager. Spark makes it before the executor runs tasks, and shuts it down with the
 * executor. RDMA starts with the first task, so that peers find this executor when they ask it for the output of that task.
 */
public final class BeneathExecutor implements ExecutorPlugin {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");
  private static final int ANNOUNCEMENTS = 3;
  private static final int BETWEEN_ANNOUNCEMENTS_S = 10;

  /** What there is once the client of the block manager has been replaced. */
  private record Installed(
      ShufflePlugin plugin, AskedLocations locations, AskedLocations.Driver driver) {}

  private @Nullable Installed installed;

  /** Not known before the first task, as Spark makes shuffle managers after plugins. */
  private volatile @Nullable IndexShuffleBlockResolver resolver;

  private volatile boolean hasLooked;

  /** What tasks that want blocks are told, if RDMA is required and cannot be used; null else. */
  private volatile @Nullable String refusal;

  @Override
  public void init(PluginContext context, Map<String, String> fromDriver) {
    SparkConf conf = context.conf();
    if (ShufflePlugin.namesManager(conf)) {
      return;
    }
    ShufflePlugin plugin = ShufflePlugin.create(conf, false, false);
    if (plugin.isOff()) {
      return;
    }
    AskedLocations.Driver driver = context::ask;
    AskedLocations locations = new AskedLocations(driver);
    try {
      SparkMembers.requireAll();
      BlockManagerClient.replace(
          SparkEnv.get().blockManager(),
          sparks ->
              new FrontClient(sparks, (task, client) -> clientOf(plugin, locations, task, client)));
      installed = new Installed(plugin, locations, driver);
    } catch (ReflectiveOperationException
        | RdmaUnavailableException
        | RuntimeException
        | LinkageError e) { // Spark would end the executor
      String why = "the client of its block manager cannot be replaced: " + e;
      if (plugin.isRequired()) {
        throw new IllegalStateException(required(why), e);
      }
      LOG.warn("Shuffle blocks of this executor go by TCP: {}", why);
    }
  }

  private static String required(String why) {
    return "RDMA cannot be used and spark.shuffle.rdma.required=true: " + why;
  }

  private @Nullable BlockStoreClient clientOf(
      ShufflePlugin plugin, AskedLocations locations, TaskContext task, BlockStoreClient sparks) {
    if (refusal != null) {
      throw new IllegalStateException(refusal);
    }
    IndexShuffleBlockResolver files = resolver;
    ExecutorSide side = files == null ? null : plugin.executor(files, task::killTaskIfInterrupted);
    return side == null ? null : side.clientOf(task, sparks, locations);
  }

  /** Called in the thread of each task, which has its context by then. What it throws is logged by Spark. */
  @Override
  public void onTaskStart() {
    Installed parts = installed;
    if (parts == null) {
      return;
    }
    if (!hasLooked) {
      startOnce(parts);
    }
    ExecutorSide side = parts.plugin.executorNow();
    if (side != null) {
      side.taskStarted(TaskContext.get());
    }
  }

  private synchronized void startOnce(Installed parts) {
    if (!hasLooked) {
      start(parts);
      hasLooked = true;
    }
  }

  private void start(Installed parts) {
    ShuffleManager manager = SparkEnv.get().shuffleManager();
    if (isOurs(manager.getClass())) {
      LOG.debug("The RdmaPlugin has nothing to do beside a kind of RdmaShuffleManager");
      return;
    }
    IndexShuffleBlockResolver files = filesOf(manager);
    if (files == null) {
      String why = manager.getClass().getName() + " does not keep map outputs in Spark's files";
      refusal = parts.plugin.isRequired() ? required(why) : null;
      LOG.warn("Shuffle blocks of this executor go by TCP: {}", why);
      return;
    }
    resolver = files;
    Start<ExecutorSide> start = parts.plugin.beginStart(files);
    if (start != null) {
      start.whenStarted(side -> announce(parts, side));
    }
  }

  private static @Nullable IndexShuffleBlockResolver filesOf(ShuffleManager manager) {
    try {
      ShuffleBlockResolver resolver = manager.shuffleBlockResolver();
      return resolver instanceof IndexShuffleBlockResolver files ? files : null;
    } catch (RuntimeException | LinkageError e) { // a manager without files may have no resolver
      LOG.debug("{} has no resolver of blocks", manager.getClass().getName(), e);
      return null;
    }
  }

  /** Whether it is the plugin's shuffle manager, or one that extends it. */
  private static boolean isOurs(Class<?> manager) {
    for (Class<?> each = manager; each != null; each = each.getSuperclass()) {
      if (ShufflePlugin.isNameOfManager(each.getName())) {
        return true;
      }
    }
    return false;
  }

  /** Runs in the thread that has started RDMA, for which nobody waits any more. */
  private static void announce(Installed parts, ExecutorSide side) {
    RdmaStack rdma = side.rdma();
    if (rdma == null) {
      return;
    }
    if (!rdma.staging().stages()) {
      LOG.warn(
          "The map outputs of this executor come by TCP: {} bytes for staging are too few for a reader. Raise"
              + " spark.shuffle.rdma.stagingBytes or spark.shuffle.rdma.maxRegisteredBytes",
          rdma.plan().stagingBytes());
      return;
    }
    for (int i = 1; i <= ANNOUNCEMENTS; i++) {
      try {
        AskedLocations.announce(
            parts.driver, SparkEnv.get().executorId(), rdma.publishedEndpoint());
        return;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      } catch (Exception e) {
        LOG.warn(
            "The driver was not told where the map outputs of this executor are ({} of {} attempts), which come by TCP: {}",
            i,
            ANNOUNCEMENTS,
            e.toString());
      }
      try {
        TimeUnit.SECONDS.sleep(BETWEEN_ANNOUNCEMENTS_S);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  @Override
  public void shutdown() {
    if (installed != null) {
      installed.plugin.close();
    }
  }
}
