/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.io.IOException;
import java.io.InputStream;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.storage.BlockId;
import org.apache.spark.util.collection.ExternalSorter;
import org.shufflerdma.config.SorterMode;
import org.shufflerdma.sorter.RecordSorter;
import org.shufflerdma.sorter.Unchecked;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * The counterpart of Spark's {@code BlockStoreShuffleReader}: the same record pipeline over blocks that
 * come by RDMA. One per reduce task and shuffle, used by the task's thread.
 *
 * @param blocks opens the blocks, once
 */
record RdmaShuffleReader<K, C>(
    ShuffleDependency<K, ?, C> dependency,
    Supplier<Iterator<Tuple2<BlockId, InputStream>>> blocks,
    TaskReads reads,
    SparkEnv env,
    SorterMode sorter,
    ShuffleReadMetricsReporter metrics)
    implements ShuffleReader<K, C> {
  @Override
  public Iterator<Product2<K, C>> read() {
    boolean sortsBytes = sorter == SorterMode.AUTO
        && dependency.keyOrdering().isDefined()
        && dependency.aggregator().isEmpty();
    BytesRead bytesRead = new BytesRead();
    Iterator<Tuple2<Object, Object>> records = new RecordIterator(
        blocks.get(),
        sortsBytes ? bytesRead::of : UnaryOperator.identity(),
        dependency.serializer().newInstance(),
        metrics,
        reads);
    Iterator<Product2<K, C>> combined = combine(interruptible(records));
    return interruptible(sortsBytes ? sort(combined, bytesRead) : sort(combined));
  }

  private <T> Iterator<T> interruptible(Iterator<T> iterator) {
    return iterator instanceof InterruptibleIterator
        ? iterator
        : new InterruptibleIterator<>(reads.context(), iterator);
  }

  /** Aggregates as the dependency asks. The types are those that the map side wrote. */
  @SuppressWarnings("unchecked")
  private Iterator<Product2<K, C>> combine(Iterator<?> records) {
    if (dependency.aggregator().isEmpty()) {
      return (Iterator<Product2<K, C>>) records;
    }
    Aggregator<K, Object, C> aggregator =
        (Aggregator<K, Object, C>) dependency.aggregator().get();
    Iterator<?> combined = dependency.mapSideCombine()
        ? aggregator.combineCombinersByKey((Iterator<Product2<K, C>>) records, reads.context())
        : aggregator.combineValuesByKey((Iterator<Product2<K, Object>>) records, reads.context());
    return (Iterator<Product2<K, C>>) combined;
  }

  private Iterator<Product2<K, C>> sort(Iterator<Product2<K, C>> records, BytesRead bytesRead) {
    try {
      return new RecordSorter<K, C>(
              env,
              reads.context(),
              dependency.serializer(),
              dependency.keyOrdering().get(),
              reads.open())
          .sort(records, bytesRead);
    } catch (IOException e) {
      throw Unchecked.thrown(e); // as Spark's sorter does
    }
  }

  /**
   * Sorts with Spark's sorter, if there is an order of keys. As with Spark 3.5, it gets records that have been
   * combined: if it combined them itself, as with Spark 4, keys that differ but that the order takes for
   * equal would keep it from seeing that others are equal.
   */
  private Iterator<Product2<K, C>> sort(Iterator<Product2<K, C>> records) {
    if (dependency.keyOrdering().isEmpty()) {
      return records;
    }
    ExternalSorter<K, C, C> sorter =
        ExternalSorters.open(reads.context(), dependency.keyOrdering(), dependency.serializer());
    return sorter.insertAllAndUpdateMetrics(records);
  }
}
