/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.io.InputStream;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.package$;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockFetcherIterator;
import org.apache.spark.util.SystemClock;
import org.apache.spark.util.collection.ExternalSorter;
import scala.Function2;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * The counterpart of Spark's {@code BlockStoreShuffleReader}: the same block iterator, limits,
 * metrics and record pipeline, over a client that reads by RDMA. One per reduce task and shuffle,
 * used by the task's thread.
 */
final class RdmaShuffleReader<K, C> implements ShuffleReader<K, C> {
  private final ShuffleDependency<K, ?, C> dependency;
  private final Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks;
  private final boolean batchFetchAllowed;
  private final TaskContext context;
  private final CountingReadMetrics metrics;
  private final BlockStoreClient client;
  private final Runnable cancel;
  private final SparkEnv env;

  /**
   * @param cancel cancels all fetches of the client
   */
  RdmaShuffleReader(
      ShuffleDependency<K, ?, C> dependency,
      Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks,
      boolean batchFetchAllowed,
      TaskContext context,
      CountingReadMetrics metrics,
      BlockStoreClient client,
      Runnable cancel,
      SparkEnv env) {
    this.dependency = dependency;
    this.blocks = blocks;
    this.batchFetchAllowed = batchFetchAllowed;
    this.context = context;
    this.metrics = metrics;
    this.client = client;
    this.cancel = cancel;
    this.env = env;
  }

  @Override
  public Iterator<Product2<K, C>> read() {
    Iterator<Tuple2<Object, Object>> records =
        new RecordIterator(openBlocks(), dependency.serializer().newInstance(), metrics, context);
    Iterator<Tuple2<Object, Object>> interruptible = new InterruptibleIterator<>(context, records);
    Iterator<Product2<K, C>> result = combine(interruptible);
    return result instanceof InterruptibleIterator
        ? result
        : new InterruptibleIterator<>(context, result);
  }

  private Iterator<Tuple2<BlockId, InputStream>> openBlocks() {
    SparkConf conf = env.conf();
    SerializerManager serializerManager = env.serializerManager();
    Function2<BlockId, InputStream, InputStream> unwrap = serializerManager::wrapStream;
    ShuffleBlockFetcherIterator iterator = new ShuffleBlockFetcherIterator(
        context,
        client,
        env.blockManager(),
        env.mapOutputTracker(),
        blocks,
        unwrap,
        (long) conf.get(package$.MODULE$.REDUCER_MAX_SIZE_IN_FLIGHT()) * 1024 * 1024,
        (int) conf.get(package$.MODULE$.REDUCER_MAX_REQS_IN_FLIGHT()),
        (int) conf.get(package$.MODULE$.REDUCER_MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS()),
        (long) conf.get(package$.MODULE$.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM()),
        (int) conf.get(package$.MODULE$.SHUFFLE_MAX_ATTEMPTS_ON_NETTY_OOM()),
        (boolean) conf.get(package$.MODULE$.SHUFFLE_DETECT_CORRUPT()),
        (boolean) conf.get(package$.MODULE$.SHUFFLE_DETECT_CORRUPT_MEMORY()),
        (boolean) conf.get(package$.MODULE$.SHUFFLE_CHECKSUM_ENABLED()),
        conf.get(package$.MODULE$.SHUFFLE_CHECKSUM_ALGORITHM()),
        metrics,
        batchFetchAllowed && canFetchInBatches(conf),
        new SystemClock());
    metrics.iteratorConstructed();
    // Before the iterator's own listener, so that what is delivered is also counted by Spark.
    context.addTaskCompletionListener(ended -> {
      cancel.run();
    });
    return iterator.toCompletionIterator();
  }

  private boolean canFetchInBatches(SparkConf conf) {
    boolean compressed = (boolean) conf.get(package$.MODULE$.SHUFFLE_COMPRESS());
    return dependency.serializer().supportsRelocationOfSerializedObjects()
        && (!compressed
            || CompressionCodec$.MODULE$.supportsConcatenationOfSerializedStreams(
                CompressionCodec$.MODULE$.createCodec(conf)))
        && !(boolean) conf.get(package$.MODULE$.SHUFFLE_USE_OLD_FETCH_PROTOCOL())
        && !(boolean) conf.get(package$.MODULE$.IO_ENCRYPTION_ENABLED());
  }

  /** Sorts and aggregates as the dependency asks. The types are those that the map side wrote. */
  @SuppressWarnings("unchecked")
  private Iterator<Product2<K, C>> combine(Iterator<?> records) {
    if (dependency.keyOrdering().isDefined()) {
      ExternalSorter<K, Object, C> sorter = ExternalSorters.open(
          context, reduceSideAggregator(), dependency.keyOrdering(), dependency.serializer());
      return sorter.insertAllAndUpdateMetrics((Iterator<Product2<K, Object>>) records);
    }
    if (dependency.aggregator().isDefined()) {
      Aggregator<K, Object, C> aggregator =
          (Aggregator<K, Object, C>) dependency.aggregator().get();
      Iterator<?> combined = dependency.mapSideCombine()
          ? aggregator.combineCombinersByKey((Iterator<Product2<K, C>>) records, context)
          : aggregator.combineValuesByKey((Iterator<Product2<K, Object>>) records, context);
      return (Iterator<Product2<K, C>>) combined;
    }
    return (Iterator<Product2<K, C>>) records;
  }

  /** Returns an aggregator for combiners if the map side has already combined. */
  @SuppressWarnings("unchecked")
  private Option<Aggregator<K, Object, C>> reduceSideAggregator() {
    if (!dependency.aggregator().isDefined()) {
      return Option.empty();
    }
    Aggregator<K, Object, C> aggregator =
        (Aggregator<K, Object, C>) dependency.aggregator().get();
    if (!dependency.mapSideCombine()) {
      return Option.apply(aggregator);
    }
    Function2<C, Object, C> merge =
        (Function2<C, Object, C>) (Function2<?, ?, ?>) aggregator.mergeCombiners();
    return Option.apply(
        new Aggregator<K, Object, C>(combiner -> (C) combiner, merge, aggregator.mergeCombiners()));
  }
}
