/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.io.InputStream;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockId;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The records of all blocks, one block's stream after another, counted in the task's metrics. Each
 * stream closes itself at its last record. Used by the task's thread alone.
 */
final class RecordIterator extends AbstractIterator<Tuple2<Object, Object>> {
  private final Iterator<Tuple2<BlockId, InputStream>> blocks;
  private final SerializerInstance serializer;
  private final ShuffleReadMetricsReporter metrics;
  private final TaskContext context;
  private Iterator<Tuple2<Object, Object>> records = emptyIterator();
  private boolean exhausted;

  /** Whether {@link #records} is known to have a record; spares {@link #next} to look again. */
  private boolean ready;

  RecordIterator(
      Iterator<Tuple2<BlockId, InputStream>> blocks,
      SerializerInstance serializer,
      ShuffleReadMetricsReporter metrics,
      TaskContext context) {
    this.blocks = blocks;
    this.serializer = serializer;
    this.metrics = metrics;
    this.context = context;
  }

  @Override
  public boolean hasNext() {
    if (ready) {
      return true;
    }
    while (!records.hasNext()) {
      if (!blocks.hasNext()) {
        if (!exhausted) {
          exhausted = true;
          context.taskMetrics().mergeShuffleReadMetrics();
        }
        return false;
      }
      records = serializer.deserializeStream(blocks.next()._2()).asKeyValueIterator();
    }
    ready = true;
    return true;
  }

  @Override
  public Tuple2<Object, Object> next() {
    if (!ready && !hasNext()) {
      throw new java.util.NoSuchElementException("no more records");
    }
    ready = false;
    metrics.incRecordsRead(1);
    return records.next();
  }

  @SuppressWarnings("unchecked")
  private static Iterator<Tuple2<Object, Object>> emptyIterator() {
    return (Iterator<Tuple2<Object, Object>>)
        (Iterator<?>) scala.collection.Iterator$.MODULE$.empty();
  }
}
