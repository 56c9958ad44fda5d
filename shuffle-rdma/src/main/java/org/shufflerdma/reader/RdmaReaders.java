/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.function.Consumer;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapSizesByExecutorId;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/** Makes the readers of one executor's reduce tasks. Any task thread may call. */
public final class RdmaReaders {
  private final SparkEnv env;
  private final @Nullable RdmaSource rdma;
  private final Consumer<ReadCounters> taskEnd;
  private final FallbackLog fallbackLog = new FallbackLog();

  /**
   * @param rdma null where RDMA is off: all remote blocks then come by TCP, and are counted so
   * @param taskEnd told what a reader counted, in its task's thread, when the task has ended
   */
  public RdmaReaders(SparkEnv env, @Nullable RdmaSource rdma, Consumer<ReadCounters> taskEnd) {
    this.env = env;
    this.rdma = rdma;
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
    BlockStoreClient spark = env.blockManager().blockStoreClient();
    RdmaBlockStoreClient byRdma = rdma == null
        ? null
        : new RdmaBlockStoreClient(
            spark,
            rdma.fetcher(),
            shuffleId,
            partitions,
            rdma.locations().locationsOf(shuffleId, partitions),
            counters,
            rdma.fallbackThreads(),
            fallbackLog);
    Runnable cancel = byRdma == null ? () -> {} : byRdma::cancel;
    // Spark calls listeners last in, first out: this one sees what the block iterator's own
    // listener, added later, still counts when it gives back what nobody has read. Spark's figures
    // must have that, too, which only the last record would see to.
    context.addTaskCompletionListener(ended -> {
      cancel.run();
      countTcp(metrics, counters, byRdma == null);
      ended.taskMetrics().mergeShuffleReadMetrics();
      taskEnd.accept(counters);
    });
    return new RdmaShuffleReader<>(
        dependency,
        blocks,
        batchFetchAllowed
            && SortShuffleManager.canUseBatchFetch(startPartition, endPartition, context),
        context,
        metrics,
        byRdma == null ? spark : byRdma,
        cancel,
        env);
  }

  /** Counts as TCP what Spark read remotely and RDMA did not bring. */
  private static void countTcp(
      CountingReadMetrics metrics, ReadCounters counters, boolean rdmaIsOff) {
    long blocks = metrics.remoteBlocks() - counters.get(Counter.RDMA_BLOCKS);
    counters.add(Counter.TCP_BYTES, metrics.remoteBytes() - counters.get(Counter.RDMA_BYTES));
    counters.add(Counter.TCP_BLOCKS, blocks);
    if (rdmaIsOff && blocks > 0) {
      counters.addFallbacks(TcpReason.RDMA_OFF.label(), blocks);
    }
  }
}
