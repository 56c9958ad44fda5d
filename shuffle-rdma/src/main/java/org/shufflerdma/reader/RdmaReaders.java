/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapSizesByExecutorId;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.location.LocationTable;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/** Makes the readers of one executor's reduce tasks. Any task thread may call. */
public final class RdmaReaders {
  private final SparkEnv env;
  private final BlockFetcher fetcher;
  private final LocationTable locations;
  private final Executor fallbackExecutor;
  private final Consumer<ReadCounters> taskEnd;

  /**
   * @param fallbackExecutor for calls of Spark's client that may take time to connect
   * @param taskEnd told what a reader counted, in its task's thread, when the task has ended
   */
  public RdmaReaders(
      SparkEnv env,
      BlockFetcher fetcher,
      LocationTable locations,
      Executor fallbackExecutor,
      Consumer<ReadCounters> taskEnd) {
    this.env = env;
    this.fetcher = fetcher;
    this.locations = locations;
    this.fallbackExecutor = fallbackExecutor;
    this.taskEnd = taskEnd;
  }

  /** The arguments are those of the shuffle manager's {@code getReader}. */
  public <K, C> ShuffleReader<K, C> open(
      BaseShuffleHandle<K, ?, C> handle,
      int startMapIndex,
      int endMapIndex,
      int startPartition,
      int endPartition,
      TaskContext context,
      ShuffleReadMetricsReporter sparkMetrics) {
    ShuffleDependency<K, ?, C> dependency = handle.dependency();
    int shuffleId = handle.shuffleId();
    MapOutputTracker tracker = env.mapOutputTracker();
    Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks;
    boolean batchFetchAllowed = true;
    if (dependency.isShuffleMergeFinalizedMarked()) {
      MapSizesByExecutorId sizes = tracker.getPushBasedShuffleMapSizesByExecutorId(
          shuffleId, startMapIndex, endMapIndex, startPartition, endPartition);
      blocks = sizes.iter();
      batchFetchAllowed = sizes.enableBatchFetch();
    } else {
      blocks = tracker.getMapSizesByExecutorId(
          shuffleId, startMapIndex, endMapIndex, startPartition, endPartition);
    }
    int partitions = dependency.partitioner().numPartitions();
    ReadCounters counters = new ReadCounters();
    CountingReadMetrics metrics = new CountingReadMetrics(sparkMetrics, counters);
    RdmaBlockStoreClient client = new RdmaBlockStoreClient(
        env.blockManager().blockStoreClient(),
        fetcher,
        shuffleId,
        partitions,
        locations.locationsOf(shuffleId, partitions),
        counters,
        fallbackExecutor);
    // Spark calls listeners last in, first out: this one sees what the block iterator's own
    // listener, added later, still counts when it gives back what nobody has read.
    context.addTaskCompletionListener(ended -> {
      client.cancel();
      countTcp(metrics, counters);
      taskEnd.accept(counters);
    });
    return new RdmaShuffleReader<>(
        dependency,
        blocks,
        batchFetchAllowed
            && SortShuffleManager.canUseBatchFetch(startPartition, endPartition, context),
        context,
        metrics,
        client,
        env);
  }

  /** What Spark read remotely and RDMA did not bring came by TCP. */
  private static void countTcp(CountingReadMetrics metrics, ReadCounters counters) {
    counters.add(Counter.TCP_BYTES, metrics.remoteBytes() - counters.get(Counter.RDMA_BYTES));
    counters.add(Counter.TCP_BLOCKS, metrics.remoteBlocks() - counters.get(Counter.RDMA_BLOCKS));
  }
}
