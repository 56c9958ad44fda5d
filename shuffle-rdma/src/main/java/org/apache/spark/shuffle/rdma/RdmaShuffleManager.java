/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.shufflerdma.plugin.ShufflePlugin;
import org.shufflerdma.reader.ReadRange;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Spark's sort shuffle whose blocks are read by RDMA. It extends Spark's manager rather than
 * wrapping one, because Spark tests for that class. Whatever the plugin throws when a shuffle is removed or the
 * manager stops, Spark's part is done. Constructed by Spark, once on the driver and
 * once on each executor.
 */
public class RdmaShuffleManager extends SortShuffleManager {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  private final ShufflePlugin plugin;

  public RdmaShuffleManager(SparkConf conf, boolean isDriver) {
    super(conf);
    this.plugin = ShufflePlugin.create(conf, isDriver);
  }

  @Override
  public <K, V, C> ShuffleHandle registerShuffle(
      int shuffleId, ShuffleDependency<K, V, C> dependency) {
    plugin.shuffleRegistered(dependency.rdd().context());
    return super.registerShuffle(shuffleId, dependency);
  }

  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
    return plugin.writer(
        handle,
        mapId,
        context,
        metrics,
        shuffleBlockResolver(),
        known -> super.getWriter(known, mapId, context, metrics));
  }

  @Override
  public <K, C> ShuffleReader<K, C> getReader(
      ShuffleHandle handle,
      int startMapIndex,
      int endMapIndex,
      int startPartition,
      int endPartition,
      TaskContext context,
      ShuffleReadMetricsReporter metrics) {
    @SuppressWarnings("unchecked")
    ReadRange<K, C> range = new ReadRange<>(
        (BaseShuffleHandle<K, ?, C>) handle,
        startMapIndex,
        endMapIndex,
        startPartition,
        endPartition,
        context);
    return plugin.reader(
        range,
        metrics,
        shuffleBlockResolver(),
        () -> super.getReader(
            handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics));
  }

  @Override
  public boolean unregisterShuffle(int shuffleId) {
    try {
      plugin.shuffleRemoved(shuffleId);
    } catch (RuntimeException | Error e) {
      LOG.error("The map outputs of shuffle {} could not be withdrawn", shuffleId, e);
    }
    return super.unregisterShuffle(shuffleId);
  }

  @Override
  public void stop() {
    try {
      plugin.close();
    } catch (RuntimeException | Error e) {
      LOG.error("RDMA could not be closed", e);
    }
    super.stop();
  }
}
