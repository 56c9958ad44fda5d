/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.io.InputStream;
import java.util.function.Supplier;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.storage.BlockId;
import org.apache.spark.util.collection.ExternalSorter;
import org.shufflerdma.config.SorterMode;
import org.shufflerdma.sorter.RecordSorter;
import scala.Function2;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * The counterpart of Spark's {@code BlockStoreShuffleReader}: the same record pipeline over blocks that
 * come by RDMA. One per reduce task and shuffle, used by the task's thread.
 */
final class RdmaShuffleReader<K, C> implements ShuffleReader<K, C> {
  private final ShuffleDependency<K, ?, C> dependency;
  private final Supplier<Iterator<Tuple2<BlockId, InputStream>>> blocks;
  private final TaskContext context;
  private final SparkEnv env;
  private final SorterMode sorter;
  private final CountingReadMetrics metrics;

  /**
   * @param blocks opens the blocks, once
   */
  RdmaShuffleReader(
      ShuffleDependency<K, ?, C> dependency,
      Supplier<Iterator<Tuple2<BlockId, InputStream>>> blocks,
      TaskContext context,
      SparkEnv env,
      SorterMode sorter,
      CountingReadMetrics metrics) {
    this.dependency = dependency;
    this.blocks = blocks;
    this.context = context;
    this.env = env;
    this.sorter = sorter;
    this.metrics = metrics;
  }

  @Override
  public Iterator<Product2<K, C>> read() {
    Iterator<Tuple2<Object, Object>> records =
        new RecordIterator(blocks.get(), dependency.serializer().newInstance(), metrics, context);
    Iterator<Tuple2<Object, Object>> interruptible = new InterruptibleIterator<>(context, records);
    Iterator<Product2<K, C>> result = combine(interruptible);
    return result instanceof InterruptibleIterator
        ? result
        : new InterruptibleIterator<>(context, result);
  }

  /** Sorts and aggregates as the dependency asks. The types are those that the map side wrote. */
  @SuppressWarnings("unchecked")
  private Iterator<Product2<K, C>> combine(Iterator<?> records) {
    if (dependency.keyOrdering().isDefined()) {
      if (dependency.aggregator().isEmpty() && sorter == SorterMode.AUTO) {
        return new RecordSorter<K, C>(
                env, context, dependency.serializer(), dependency.keyOrdering().get())
            .sort((Iterator<Product2<K, C>>) records);
      }
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
