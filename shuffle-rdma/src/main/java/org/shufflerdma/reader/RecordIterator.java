/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.io.InputStream;
import java.util.function.UnaryOperator;
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
  private final UnaryOperator<InputStream> opened;
  private final SerializerInstance serializer;
  private final ShuffleReadMetricsReporter metrics;
  private final TaskReads reads;
  private Iterator<Tuple2<Object, Object>> records = SparkBlocks.none();
  private boolean exhausted;

  /** Whether {@link #records} is known to have a record; spares {@link #next} to look again. */
  private boolean ready;

  /** @param opened returns the stream through which the bytes of a block are read */
  RecordIterator(
      Iterator<Tuple2<BlockId, InputStream>> blocks,
      UnaryOperator<InputStream> opened,
      SerializerInstance serializer,
      ShuffleReadMetricsReporter metrics,
      TaskReads reads) {
    this.blocks = blocks;
    this.opened = opened;
    this.serializer = serializer;
    this.metrics = metrics;
    this.reads = reads;
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
          reads.exhausted();
        }
        return false;
      }
      InputStream block = opened.apply(blocks.next()._2());
      records = serializer.deserializeStream(block).asKeyValueIterator();
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
}
