/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.function.Consumer;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapSizesByExecutorId;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.shufflerdma.metrics.ReadCounters;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/** Makes the readers of one executor's reduce tasks, by RDMA. Any task thread may call. */
public final class RdmaReaders {
  private final SparkEnv env;
  private final RdmaSource rdma;
  private final Consumer<ReadCounters> taskEnd;
  private final FallbackLog fallbackLog = new FallbackLog();

  /**
   * @param taskEnd receives the counts of a reader, in its task's thread, when the task has ended
   */
  public RdmaReaders(SparkEnv env, RdmaSource rdma, Consumer<ReadCounters> taskEnd) {
    this.env = env;
    this.rdma = rdma;
    this.taskEnd = taskEnd;
  }

  public <K, C> ShuffleReader<K, C> open(
      ReadRange<K, C> range, ShuffleReadMetricsReporter sparkMetrics) {
    ShuffleDependency<K, ?, C> dependency = range.handle().dependency();
    int shuffleId = range.handle().shuffleId();
    TaskContext context = range.context();
    MapOutputTracker tracker = env.mapOutputTracker();
    Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks;
    boolean batchFetchAllowed = true;
    if (dependency.isShuffleMergeFinalizedMarked()) {
      MapSizesByExecutorId sizes = tracker.getPushBasedShuffleMapSizesByExecutorId(
          shuffleId,
          range.startMapIndex(),
          range.endMapIndex(),
          range.startPartition(),
          range.endPartition());
      blocks = sizes.iter();
      batchFetchAllowed = sizes.enableBatchFetch();
    } else {
      blocks = tracker.getMapSizesByExecutorId(
          shuffleId,
          range.startMapIndex(),
          range.endMapIndex(),
          range.startPartition(),
          range.endPartition());
    }
    int partitions = dependency.partitioner().numPartitions();
    ReadCounters counters = new ReadCounters();
    CountingReadMetrics metrics = new CountingReadMetrics(sparkMetrics, counters);
    RdmaBlockStoreClient client = new RdmaBlockStoreClient(
        env.blockManager().blockStoreClient(),
        rdma.fetcher(),
        shuffleId,
        partitions,
        rdma.locations().locationsOf(shuffleId, partitions),
        counters,
        rdma.fallbackThreads(),
        fallbackLog);
    metrics.tellAtEnd(context, client::cancel, taskEnd);
    return new RdmaShuffleReader<>(
        dependency,
        blocks,
        batchFetchAllowed
            && SortShuffleManager.canUseBatchFetch(
                range.startPartition(), range.endPartition(), context),
        context,
        metrics,
        client,
        client::cancel,
        env);
  }
}
