/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.fetch.PeerBlocks;
import scala.Tuple3;
import scala.runtime.BoxesRunTime;

/**
 * The blocks of one executor that a task reads directly: what Spark knows of them, by their numbers in
 * {@link #reads}.
 */
final class DirectSource {
  /** The most bytes that neighbouring partitions of a map output have together as one block. */
  private static final long MAX_BATCH_BYTES = 8 << 20;

  private final BlockManagerId address;
  private final PeerBlocks reads;
  private final List<Tuple3<BlockId, Object, Object>> blocks = new ArrayList<>();

  /** Blocks to be fetched in Spark's own way. */
  final List<Tuple3<BlockId, Object, Object>> left = new ArrayList<>();

  /** The neighbours that have been added last, whose block is still open; null if there are none. */
  private @Nullable MapOutputLocation openAt;

  private int openStart;
  private int openEnd;
  private long openBytes;

  DirectSource(BlockManagerId address, PeerBlocks reads) {
    this.address = address;
    this.reads = reads;
  }

  PeerBlocks reads() {
    return reads;
  }

  BlockManagerId address() {
    return address;
  }

  Tuple3<BlockId, Object, Object> block(int number) {
    return blocks.get(number);
  }

  void add(MapOutputLocation at, int partition, Tuple3<BlockId, Object, Object> block) {
    reads.add(at.descriptor(), partition, partition + 1);
    blocks.add(block);
  }

  /** Adds a partition to the block before if it is its neighbour. {@link #endBatch} must follow. */
  void addToBatch(MapOutputLocation at, int partition, Tuple3<BlockId, Object, Object> block) {
    long bytes = BoxesRunTime.unboxToLong(block._2());
    if (openAt != null
        && openAt.descriptor().mapId() == at.descriptor().mapId()
        && openEnd == partition
        && openBytes + bytes <= MAX_BATCH_BYTES) {
      openEnd++;
      openBytes += bytes;
    } else {
      endBatch();
      openAt = at;
      openStart = partition;
      openEnd = partition + 1;
      openBytes = bytes;
      blocks.add(block);
    }
  }

  /** Ends the block of the neighbours that have been added last. */
  void endBatch() {
    MapOutputLocation at = openAt;
    if (at == null) {
      return;
    }
    openAt = null;
    reads.add(at.descriptor(), openStart, openEnd);
    if (openEnd > openStart + 1) {
      int last = blocks.size() - 1;
      BlockId batch = new ShuffleBlockBatchId(
          at.descriptor().shuffleId(), at.descriptor().mapId(), openStart, openEnd);
      blocks.set(last, new Tuple3<>(batch, openBytes, blocks.get(last)._3()));
    }
  }

  /** The failure that has Spark compute the block's map output again. */
  FetchFailedException fetchFailed(Tuple3<BlockId, Object, Object> block, Throwable cause) {
    int shuffleId;
    long mapId;
    int partition;
    if (block._1() instanceof ShuffleBlockId id) {
      shuffleId = id.shuffleId();
      mapId = id.mapId();
      partition = id.reduceId();
    } else {
      ShuffleBlockBatchId batch = (ShuffleBlockBatchId) block._1();
      shuffleId = batch.shuffleId();
      mapId = batch.mapId();
      partition = batch.startReduceId();
    }
    return new FetchFailedException(
        address,
        shuffleId,
        mapId,
        BoxesRunTime.unboxToInt(block._3()),
        partition,
        String.valueOf(cause.getMessage()),
        cause);
  }
}
