/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.client.MapOutputLocation;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.fetch.direct.PeerBlocks;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.JavaConverters$;
import scala.collection.Seq;
import scala.runtime.BoxesRunTime;

/**
 * Parts the blocks of a reduce task: those that have a location are read directly, including this
 * executor's own if they are registered, and Spark's block iterator has all others, which have no location, are too large for
 * memory, or lie in files of this host that Spark reads by itself. Used by the task's thread alone.
 */
final class BlockSplit {
  /** Spark reads a larger block of this executor as a stream, which takes no memory. */
  private static final long MAX_OWN_BLOCK_BYTES = 4 << 20;

  private final LocationTable.Shuffle locations;
  private final long maxBlockBytes;
  private final boolean batches;
  private final BlockManagerId self;
  private final boolean readsDisksOfHost;
  private final boolean readsOwn;

  private final List<DirectSource> direct = new ArrayList<>();
  private final List<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> others =
      new ArrayList<>();
  private long directBytes;
  private long otherBytes;
  private boolean readsFilesOfHost;

  /**
   * @param self this executor
   * @param readsOwn whether this executor reads its own blocks by RDMA
   * @param readsDisksOfHost whether Spark reads files of other executors of this host by itself
   * @param maxBlockBytes the size from which Spark fetches a block to disk
   * @param batches whether neighbouring partitions of one map output make one block
   */
  BlockSplit(
      LocationTable.Shuffle locations,
      BlockManagerId self,
      boolean readsOwn,
      boolean readsDisksOfHost,
      long maxBlockBytes,
      boolean batches) {
    this.locations = locations;
    this.maxBlockBytes = maxBlockBytes;
    this.batches = batches;
    this.self = self;
    this.readsOwn = readsOwn;
    this.readsDisksOfHost = readsDisksOfHost;
  }

  void addAll(Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> executors) {
    while (executors.hasNext()) {
      Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>> blocks = executors.next();
      if (isReadByRdma(blocks._1())) {
        add(blocks._1(), blocks._2());
      } else {
        others.add(blocks);
        readsFilesOfHost |= !isOwn(blocks._1());
      }
    }
    Collections.shuffle(direct); // so that not all tasks begin with the same executor
  }

  /** The READ of an own block costs less than Spark's way, which opens the index file and the data file. */
  private boolean isReadByRdma(BlockManagerId address) {
    return isOwn(address) ? readsOwn : !(readsDisksOfHost && address.host().equals(self.host()));
  }

  private boolean isOwn(BlockManagerId address) {
    return address.executorId().equals(self.executorId());
  }

  private void add(BlockManagerId address, Seq<Tuple3<BlockId, Object, Object>> blocks) {
    boolean isOwn = isOwn(address);
    long maxBytes = isOwn ? Math.min(MAX_OWN_BLOCK_BYTES, maxBlockBytes) : maxBlockBytes;
    Set<Integer> mapsOfSpark = batches ? mapsWithLargeBlocks(blocks, maxBytes) : Set.of();
    List<Tuple3<BlockId, Object, Object>> rest = new ArrayList<>();
    DirectSource source = null;
    PeerId peer = null;
    Iterator<Tuple3<BlockId, Object, Object>> each = blocks.iterator();
    while (each.hasNext()) {
      Tuple3<BlockId, Object, Object> block = each.next();
      long bytes = BoxesRunTime.unboxToLong(block._2());
      MapOutputLocation location = locationOf(block, address);
      if (location == null
          || (isOwn && !location.descriptor().isRegistered())
          || bytes > maxBytes
          || mapsOfSpark.contains(BoxesRunTime.unboxToInt(block._3()))
          || (peer != null && !peer.equals(location.peer()))) {
        rest.add(block);
        otherBytes += isOwn ? 0 : bytes;
        continue;
      }
      if (source == null) {
        peer = location.peer();
        InetSocketAddress tcp = InetSocketAddress.createUnresolved(address.host(), address.port());
        source = new DirectSource(address, isOwn, new PeerBlocks(peer, tcp), batches);
        direct.add(source);
      }
      source.add(location, ((ShuffleBlockId) block._1()).reduceId(), block);
      directBytes += isOwn ? 0 : bytes;
    }
    if (source != null) {
      source.end();
    }
    if (!rest.isEmpty()) {
      others.add(new Tuple2<>(address, scalaSeq(rest)));
    }
  }

  /**
   * The indexes of map outputs that Spark's iterator must have whole: where it fetches batches, it takes
   * what lies between two blocks of a map output for one range with them.
   */
  private static Set<Integer> mapsWithLargeBlocks(
      Seq<Tuple3<BlockId, Object, Object>> blocks, long maxBytes) {
    Set<Integer> maps = new HashSet<>();
    Iterator<Tuple3<BlockId, Object, Object>> each = blocks.iterator();
    while (each.hasNext()) {
      Tuple3<BlockId, Object, Object> block = each.next();
      if (BoxesRunTime.unboxToLong(block._2()) > maxBytes) {
        maps.add(BoxesRunTime.unboxToInt(block._3()));
      }
    }
    return maps;
  }

  private @Nullable MapOutputLocation locationOf(
      Tuple3<BlockId, Object, Object> block, BlockManagerId address) {
    if (!(block._1() instanceof ShuffleBlockId id)) {
      return null;
    }
    MapOutputLocation location =
        locations.locationAt(BoxesRunTime.unboxToInt(block._3()), id.mapId());
    return location == null || !location.peer().executorId().equals(address.executorId())
        ? null
        : location;
  }

  /** The executors whose blocks are read directly, in random order. */
  List<DirectSource> direct() {
    return direct;
  }

  /** Whether Spark reads some of the blocks from files of other executors of this host. */
  boolean readsFilesOfHost() {
    return readsFilesOfHost;
  }

  /** The blocks for Spark's iterator. */
  List<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> others() {
    return others;
  }

  /**
   * The part of {@code bytes} that the direct blocks get, by the share of those that cross the network,
   * and at least a fifth.
   */
  long directPartOf(long bytes) {
    long part = otherBytes == 0
        ? bytes
        : (long) ((double) bytes * directBytes / ((double) directBytes + otherBytes));
    return Math.max(1, Math.max(bytes / 5, part)); // Spark takes 0 for one block at a time
  }

  /** The part that all others get. */
  long otherPartOf(long bytes) {
    return direct.isEmpty() || otherBytes == 0 ? bytes : Math.max(1, bytes - directPartOf(bytes));
  }

  /** A list as Scala's, in the one way that Scala 2.12 and 2.13 share. */
  @SuppressWarnings("deprecation")
  static <T> Seq<T> scalaSeq(List<T> list) {
    return JavaConverters$.MODULE$.asScalaBuffer(list);
  }
}
