/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.client.MapOutputLocation;
import org.shufflerdma.fetch.direct.PeerBlocks;
import scala.Tuple3;
import scala.runtime.BoxesRunTime;

/**
 * The blocks of one executor that a task reads directly: what Spark knows of them, by their numbers in
 * {@link #reads}.
 */
final class DirectSource {
  /** The most bytes that partitions of a map output have together as one block. */
  private static final long MAX_BATCH_BYTES = 8 << 20;

  private final BlockManagerId address;
  private final boolean isOwn;
  private final PeerBlocks reads;

  /** What the tracker said of each partition, in the order of the blocks that contain them. */
  private final List<Tuple3<BlockId, Object, Object>> partitions = new ArrayList<>();

  /** Where in {@code partitions} each block begins; null if each block is one partition. */
  private final @Nullable List<Integer> firsts;

  /** Partitions to be fetched in Spark's own way. */
  private List<Tuple3<BlockId, Object, Object>> left = new ArrayList<>();

  /** The map output of the partitions that were added last, whose block is still open; null if none is. */
  private @Nullable MapOutputLocation openAt;

  private int openStart;
  private int openEnd;
  private long openBytes;
  private long takenReadMs;

  /**
   * @param isOwn whether the executor is the one that runs the task
   * @param batches whether the partitions of a map output make one block. Those between them are
   *     empty, as the tracker leaves out no others where batches are allowed
   */
  DirectSource(BlockManagerId address, boolean isOwn, PeerBlocks reads, boolean batches) {
    this.address = address;
    this.isOwn = isOwn;
    this.reads = reads;
    this.firsts = batches ? new ArrayList<>() : null;
  }

  PeerBlocks reads() {
    return reads;
  }

  BlockManagerId address() {
    return address;
  }

  /** Whether the blocks are local ones for Spark, which reads what is left of them from the disk. */
  boolean isOwn() {
    return isOwn;
  }

  /** Takes the milliseconds by which the time of reading has grown since the last call. */
  long takeReadMs() {
    long readMs = TimeUnit.NANOSECONDS.toMillis(reads.readNs());
    long more = readMs - takenReadMs;
    takenReadMs = readMs;
    return more;
  }

  /** Adds a partition, which {@link #end} must follow once all have been added. */
  void add(MapOutputLocation at, int partition, Tuple3<BlockId, Object, Object> block) {
    if (firsts == null) {
      reads.add(at.descriptor(), partition, partition + 1);
    } else {
      addToBatch(firsts, at, partition, BoxesRunTime.unboxToLong(block._2()));
    }
    partitions.add(block);
  }

  private void addToBatch(List<Integer> blocks, MapOutputLocation at, int partition, long bytes) {
    if (openAt != null
        && openAt.descriptor().mapId() == at.descriptor().mapId()
        && openEnd <= partition
        && openBytes + bytes <= MAX_BATCH_BYTES) {
      openEnd = partition + 1;
      openBytes += bytes;
    } else {
      end();
      openAt = at;
      openStart = partition;
      openEnd = partition + 1;
      openBytes = bytes;
      blocks.add(partitions.size());
    }
  }

  /** All partitions have been added. */
  void end() {
    if (openAt != null) {
      reads.add(openAt.descriptor(), openStart, openEnd);
      openAt = null;
    }
  }

  /** The first partition of a block, by which the block is named in failures. */
  Tuple3<BlockId, Object, Object> first(int block) {
    return partitions.get(firsts == null ? block : firsts.get(block));
  }

  private int endOf(int block) {
    if (firsts == null) {
      return block + 1;
    }
    return block + 1 < firsts.size() ? firsts.get(block + 1) : partitions.size();
  }

  /** The block as Spark names it. */
  BlockId id(int block) {
    BlockId first = first(block)._1();
    BlockId last = partitions.get(endOf(block) - 1)._1();
    if (first == last || !(first instanceof ShuffleBlockId from)) {
      return first;
    }
    return new ShuffleBlockBatchId(
        from.shuffleId(), from.mapId(), from.reduceId(), ((ShuffleBlockId) last).reduceId() + 1);
  }

  /**
   * Leaves a block to Spark, partition by partition: Spark's protocol takes either ranges or single
   * partitions in one request, and one range of each map output.
   */
  void leave(int block) {
    left.addAll(partitions.subList(firsts == null ? block : firsts.get(block), endOf(block)));
  }

  /** Takes out the partitions that were left. */
  List<Tuple3<BlockId, Object, Object>> takeLeft() {
    List<Tuple3<BlockId, Object, Object>> taken = left;
    left = new ArrayList<>();
    return taken;
  }

  /** The failure that has Spark compute the block's map output again. */
  FetchFailedException fetchFailed(int block, Throwable cause) {
    Tuple3<BlockId, Object, Object> first = first(block);
    ShuffleBlockId id = (ShuffleBlockId) first._1(); // BlockSplit adds no others
    return new FetchFailedException(
        address,
        id.shuffleId(),
        id.mapId(),
        BoxesRunTime.unboxToInt(first._3()),
        id.reduceId(),
        String.valueOf(cause.getMessage()),
        cause);
  }
}
