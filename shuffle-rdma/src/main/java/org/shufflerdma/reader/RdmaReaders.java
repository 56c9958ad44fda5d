/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.io.InputStream;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapSizesByExecutorId;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.internal.config.package$;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.shufflerdma.client.FallbackLog;
import org.shufflerdma.client.OutputLocations;
import org.shufflerdma.client.RdmaBlockStoreClient;
import org.shufflerdma.config.ReaderMode;
import org.shufflerdma.config.SorterMode;
import org.shufflerdma.fetch.direct.DirectFetch;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.Seq;

/** Makes the readers of one executor's reduce tasks, by RDMA. Any task thread may call. */
public final class RdmaReaders {
  private final SparkEnv env;
  private final RdmaSource rdma;
  private final ReaderMode mode;
  private final SorterMode sorter;
  private final boolean verifies;
  private final ReadingTasks tasks;
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
      ReadingTasks tasks) {
    this.env = env;
    this.rdma = rdma;
    this.mode = mode;
    this.sorter = sorter;
    this.verifies = verifies;
    this.tasks = tasks;
  }

  public <K, C> ShuffleReader<K, C> open(
      ReadRange<K, C> range, ShuffleReadMetricsReporter metrics) {
    TaskReads reads = tasks.of(range.context());
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
    boolean concatenates = canConcatenate(dependency);
    boolean batches = batchFetchAllowed
        && concatenates
        && SortShuffleManager.canUseBatchFetch(
            range.startPartition(), range.endPartition(), range.context());
    SparkBlocks sparkBlocks = new SparkBlocks(range.context(), env, metrics);
    Supplier<RdmaBlockStoreClient> client = () -> new RdmaBlockStoreClient(
        env.blockManager().blockStoreClient(),
        rdma.fetcher(),
        new TrackedLocations(shuffleId, partitions, locations),
        true,
        reads.counters(),
        rdma.fallbackThreads(),
        fallbackLog);
    boolean byIterator = mode == ReaderMode.SPARK || isMerged || decodesBlocksAhead();
    return new RdmaShuffleReader<>(
        dependency,
        () -> byIterator
            ? toTheEnd(
                openByClient(client, sparkBlocks, blocks, batches, maxBytesInFlight(), reads),
                reads)
            : openDirect(
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
                reads,
                metrics),
        reads,
        env,
        sorter,
        metrics);
  }

  /**
   * The client of a task's block iterators that are not the plugin's. It is cancelled when the task ends. Nobody tells whether one that asks
   * for a block again is another reader of it, or could not decode it, which makes a difference if nobody has verified it.
   *
   * @param sparks fetches what RDMA cannot serve
   */
  public BlockStoreClient client(
      TaskReads reads, BlockStoreClient sparks, OutputLocations locations) {
    return reads.client(() -> new RdmaBlockStoreClient(
        sparks,
        rdma.fetcher(),
        locations,
        !verifies,
        reads.counters(),
        rdma.fallbackThreads(),
        fallbackLog));
  }

  private static DirectBlocks.Others openByClient(
      Supplier<RdmaBlockStoreClient> client,
      SparkBlocks sparkBlocks,
      Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks,
      boolean batches,
      long maxBytesInFlight,
      TaskReads reads) {
    if (!blocks.hasNext()) {
      return new DirectBlocks.Others(SparkBlocks.none(), () -> {});
    }
    RdmaBlockStoreClient opened = client.get();
    AutoCloseable end = reads.open().keep(opened::cancel);
    DirectBlocks.Others others =
        new DirectBlocks.Others(sparkBlocks.open(opened, blocks, batches, maxBytesInFlight), end);
    // Before the iterator's own listener, so that what is delivered is also counted by Spark.
    reads.context().addTaskCompletionListener(ended -> {
      opened.cancel();
    });
    return others;
  }

  /** Nobody needs the client after the last block, and a task may open very many readers. */
  private static Iterator<Tuple2<BlockId, InputStream>> toTheEnd(
      DirectBlocks.Others others, TaskReads reads) {
    return new AbstractIterator<>() {
      @Override
      public boolean hasNext() {
        boolean hasNext = others.blocks().hasNext();
        if (!hasNext) {
          reads.open().giveBack(others.client());
        }
        return hasNext;
      }

      @Override
      public Tuple2<BlockId, InputStream> next() {
        return others.blocks().next();
      }
    };
  }

  private Iterator<Tuple2<BlockId, InputStream>> openDirect(
      BlockSplit split,
      Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks,
      boolean batches,
      boolean concatenates,
      Supplier<RdmaBlockStoreClient> client,
      SparkBlocks sparkBlocks,
      TaskReads reads,
      ShuffleReadMetricsReporter metrics) {
    split.addAll(blocks);
    if (split.readsFilesOfHost()) {
      fallbackLog.noteFilesOfHost();
    }
    long maxBytes = maxBytesInFlight();
    DirectBlocks.Others others = openByClient(
        client,
        sparkBlocks,
        scalaIterator(split.others()),
        batches,
        split.otherPartOf(maxBytes),
        reads);
    DirectFetch fetch = rdma.fetcher()
        .direct(
            reads.fetches(),
            split.direct().stream().map(DirectSource::reads).toList(),
            new DirectFetch.Limits(
                split.directPartOf(maxBytes),
                Math.max(1, (int) conf().get(package$.MODULE$.REDUCER_MAX_REQS_IN_FLIGHT())),
                (int) conf().get(package$.MODULE$.REDUCER_MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS())),
            reads.context()::killTaskIfInterrupted);
    return new DirectBlocks(
        fetch,
        split.direct(),
        others,
        left -> sparkBlocks.open(
            env.blockManager().blockStoreClient(),
            scalaIterator(left),
            false,
            split.directPartOf(maxBytes)),
        new DirectBlocks.Decoding(env.serializerManager(), concatenates, (boolean)
            conf().get(package$.MODULE$.SHUFFLE_DETECT_CORRUPT())),
        reads,
        metrics,
        ownReads,
        fallbackLog);
  }

  private static <T> Iterator<T> scalaIterator(List<T> list) {
    return BlockSplit.scalaSeq(list).iterator();
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
