/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.io.InputStream;
import java.util.List;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapSizesByExecutorId;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.package$;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.shufflerdma.config.ReaderMode;
import org.shufflerdma.config.SorterMode;
import org.shufflerdma.fetch.DirectFetch;
import org.shufflerdma.metrics.ReadCounters;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/** Makes the readers of one executor's reduce tasks, by RDMA. Any task thread may call. */
public final class RdmaReaders {
  private final SparkEnv env;
  private final RdmaSource rdma;
  private final ReaderMode mode;
  private final SorterMode sorter;
  private final boolean verifies;
  private final CountedTasks tasks;
  private final FallbackLog fallbackLog = new FallbackLog();
  private final OwnReads ownReads = new OwnReads();

  /**
   * @param verifies whether blocks have checksums
   * @param tasks have the counts of the readers told
   */
  public RdmaReaders(
      SparkEnv env,
      RdmaSource rdma,
      ReaderMode mode,
      SorterMode sorter,
      boolean verifies,
      CountedTasks tasks) {
    this.env = env;
    this.rdma = rdma;
    this.mode = mode;
    this.sorter = sorter;
    this.verifies = verifies;
    this.tasks = tasks;
  }

  public <K, C> ShuffleReader<K, C> open(
      ReadRange<K, C> range, ShuffleReadMetricsReporter sparkMetrics) {
    TaskContext context = range.context();
    TaskCounts counts = tasks.of(context);
    ReadCounters counters = counts.counters();
    CountingReadMetrics metrics = new CountingReadMetrics(sparkMetrics, counts);
    ShuffleDependency<K, ?, C> dependency = range.handle().dependency();
    boolean isMerged = dependency.isShuffleMergeFinalizedMarked();
    MapOutputTracker tracker = env.mapOutputTracker();
    int shuffleId = range.handle().shuffleId();
    Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks;
    boolean batchFetchAllowed = true;
    if (isMerged) {
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
    LocationTable.Shuffle locations = rdma.locations().locationsOf(shuffleId, partitions);
    RdmaBlockStoreClient client = new RdmaBlockStoreClient(
        env.blockManager().blockStoreClient(),
        rdma.fetcher(),
        shuffleId,
        partitions,
        locations,
        counters,
        rdma.fallbackThreads(),
        fallbackLog);
    atEnd(context, client::cancel); // after the iterator has given back what nobody has read
    boolean concatenates = canConcatenate(dependency);
    boolean batches = batchFetchAllowed
        && concatenates
        && SortShuffleManager.canUseBatchFetch(
            range.startPartition(), range.endPartition(), context);
    SparkBlocks sparkBlocks = new SparkBlocks(context, env, metrics);
    if (mode == ReaderMode.SPARK || isMerged || decodesBlocksAhead()) {
      return new RdmaShuffleReader<>(
          dependency,
          () -> {
            Iterator<Tuple2<BlockId, InputStream>> opened =
                sparkBlocks.open(client, blocks, batches, maxBytesInFlight());
            // Before the iterator's own listener, so that what is delivered is also counted by
            // Spark.
            atEnd(context, client::cancel);
            return opened;
          },
          context,
          env,
          sorter,
          metrics);
    }
    return new RdmaShuffleReader<>(
        dependency,
        () -> openDirect(
            new BlockSplit(
                locations,
                env.blockManager().blockManagerId(),
                ownReads.areByRdma(),
                env.blockManager().hostLocalDirManager().isDefined(),
                maxBytesInMemory(),
                batches),
            blocks,
            batches,
            concatenates && verifies,
            client,
            sparkBlocks,
            context,
            metrics,
            counters),
        context,
        env,
        sorter,
        metrics);
  }

  private Iterator<Tuple2<BlockId, InputStream>> openDirect(
      BlockSplit split,
      Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks,
      boolean batches,
      boolean concatenates,
      RdmaBlockStoreClient client,
      SparkBlocks sparkBlocks,
      TaskContext context,
      CountingReadMetrics metrics,
      ReadCounters counters) {
    split.addAll(blocks);
    long maxBytes = maxBytesInFlight();
    Iterator<Tuple2<BlockId, InputStream>> others = sparkBlocks.open(
        client, scalaIterator(split.others()), batches, split.otherPartOf(maxBytes));
    DirectFetch fetch = rdma.fetcher()
        .direct(
            split.direct().stream().map(DirectSource::reads).toList(),
            new DirectFetch.Limits(
                split.directPartOf(maxBytes),
                Math.max(1, (int) conf().get(package$.MODULE$.REDUCER_MAX_REQS_IN_FLIGHT())),
                (int) conf().get(package$.MODULE$.REDUCER_MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS())),
            context::killTaskIfInterrupted);
    atEnd(context, () -> {
      fetch.close();
      fetch.times().addTo(counters);
      client.cancel();
    });
    return new DirectBlocks(
        fetch,
        split.direct(),
        others,
        left -> sparkBlocks.open(
            env.blockManager().blockStoreClient(),
            scalaIterator(left),
            false,
            split.directPartOf(maxBytes)),
        env.serializerManager(),
        concatenates,
        (boolean) conf().get(package$.MODULE$.SHUFFLE_DETECT_CORRUPT()),
        metrics,
        counters,
        ownReads,
        fallbackLog);
  }

  private static <T> Iterator<T> scalaIterator(List<T> list) {
    return BlockSplit.scalaSeq(list).iterator();
  }

  private static void atEnd(TaskContext context, Runnable step) {
    context.addTaskCompletionListener(ended -> {
      step.run();
    });
  }

  private SparkConf conf() {
    return env.conf();
  }

  private long maxBytesInFlight() {
    return (long) conf().get(package$.MODULE$.REDUCER_MAX_SIZE_IN_FLIGHT()) * 1024 * 1024;
  }

  private long maxBytesInMemory() {
    return (long) conf().get(package$.MODULE$.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM());
  }

  /** Whether blocks are decoded in memory before their first record is handed out. */
  private boolean decodesBlocksAhead() {
    return (boolean) conf().get(package$.MODULE$.SHUFFLE_DETECT_CORRUPT())
        && (boolean) conf().get(package$.MODULE$.SHUFFLE_DETECT_CORRUPT_MEMORY());
  }

  /** Whether the bytes of several blocks, one after the other, decode as those of one block. */
  private boolean canConcatenate(ShuffleDependency<?, ?, ?> dependency) {
    boolean compressed = (boolean) conf().get(package$.MODULE$.SHUFFLE_COMPRESS());
    return dependency.serializer().supportsRelocationOfSerializedObjects()
        && (!compressed
            || CompressionCodec$.MODULE$.supportsConcatenationOfSerializedStreams(
                CompressionCodec$.MODULE$.createCodec(conf())))
        && !(boolean) conf().get(package$.MODULE$.SHUFFLE_USE_OLD_FETCH_PROTOCOL())
        && !(boolean) conf().get(package$.MODULE$.IO_ENCRYPTION_ENABLED());
  }
}
