/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.Map;
import java.util.Objects;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockResolver;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.beneath.AskedLocations;
import org.shufflerdma.beneath.BlockManagerClient;
import org.shufflerdma.beneath.FrontClient;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The executor's part under another shuffle manager. Spark makes it before the executor runs tasks, and shuts it down with the
 * executor. RDMA starts with the first task, so that peers find this executor when they ask it for the output of that task.
 */
public final class BeneathExecutor implements ExecutorPlugin {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  private @Nullable ShufflePlugin plugin;
  private AskedLocations.@Nullable Driver driver;

  /** Not known before the first task, as Spark makes shuffle managers after plugins. */
  private volatile @Nullable IndexShuffleBlockResolver resolver;

  private volatile boolean hasLooked;

  @Override
  public void init(PluginContext context, Map<String, String> fromDriver) {
    SparkConf conf = context.conf();
    if (ShufflePlugin.namesManager(conf)) {
      return;
    }
    ShufflePlugin created = ShufflePlugin.create(conf, false, false);
    AskedLocations.Driver asks = context::ask;
    AskedLocations asked = new AskedLocations(asks);
    try {
      BlockManagerClient.replace(
          SparkEnv.get().blockManager(),
          sparks ->
              new FrontClient(sparks, (task, client) -> clientOf(created, asked, task, client)));
    } catch (ReflectiveOperationException | RuntimeException e) {
      LOG.warn(
          "Shuffle blocks of this executor go by TCP, as the client of its block manager cannot be replaced: {}",
          e.toString());
      return;
    }
    plugin = created;
    driver = asks;
  }

  private @Nullable BlockStoreClient clientOf(
      ShufflePlugin of, AskedLocations asked, TaskContext task, BlockStoreClient sparks) {
    IndexShuffleBlockResolver files = resolver;
    ExecutorSide side = files == null ? null : of.executor(files, task::killTaskIfInterrupted);
    return side == null ? null : side.clientOf(task, sparks, asked);
  }

  /** Called in the thread of each task, which has its context by then. */
  @Override
  public void onTaskStart() {
    ShufflePlugin of = plugin;
    if (of == null) {
      return;
    }
    if (!hasLooked) {
      startOnce(of);
    }
    ExecutorSide side = of.executorNow();
    if (side != null) {
      side.taskStarted(TaskContext.get());
    }
  }

  private void startOnce(ShufflePlugin of) {
    ShuffleBlockResolver found = SparkEnv.get().shuffleManager().shuffleBlockResolver();
    synchronized (this) {
      if (hasLooked) {
        return;
      }
      hasLooked = true;
      if (isOurs(SparkEnv.get().shuffleManager().getClass())) {
        LOG.debug("The RdmaPlugin has nothing to do beside a kind of RdmaShuffleManager");
      } else if (found instanceof IndexShuffleBlockResolver files) {
        resolver = files;
        of.beginStart(files, this::announce);
      } else {
        LOG.warn(
            "Shuffle blocks of this executor go by TCP: {} does not keep map outputs in Spark's files",
            SparkEnv.get().shuffleManager().getClass().getName());
      }
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

  private void announce(ExecutorSide side) {
    RdmaStack rdma = side.rdma();
    if (rdma == null || !rdma.staging().stages()) {
      return;
    }
    try {
      AskedLocations.announce(
          Objects.requireNonNull(driver), SparkEnv.get().executorId(), rdma.publishedEndpoint());
    } catch (Exception e) {
      LOG.warn(
          "The map outputs of this executor come by TCP, as the driver was not told where they are: {}",
          e.toString());
    }
  }

  @Override
  public void shutdown() {
    if (plugin != null) {
      plugin.close();
    }
  }
}
