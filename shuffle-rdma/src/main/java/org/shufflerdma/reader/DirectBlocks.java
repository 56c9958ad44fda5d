/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.client.FallbackLog;
import org.shufflerdma.client.RdmaCounts;
import org.shufflerdma.client.SliceInputStream;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.DirectFetch.LeftBlock;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.sorter.Unchecked;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * All blocks of a reduce task: those that the task reads directly, by Spark's own client those of them
 * that could not be read, and at last those of Spark's block iterator, which fetches them meanwhile. Used
 * by one thread at a time. Ends with the last block, or with the task.
 */
final class DirectBlocks extends AbstractIterator<Tuple2<BlockId, InputStream>>
    implements AutoCloseable {
  /**
   * The blocks that are not read directly, which Spark's iterator fetches with the plugin's client.
   *
   * @param client is kept by the task's reads, which close it when all have been read, or with the task
   */
  record Others(Iterator<Tuple2<BlockId, InputStream>> blocks, AutoCloseable client) {}

  /** Opens an iterator over blocks that Spark's own client fetches, or reads if they are local. */
  interface ByClient {
    Iterator<Tuple2<BlockId, InputStream>> open(
        List<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks);
  }

  /**
   * How the bytes of blocks are decoded.
   *
   * @param concatenates whether the bytes of several blocks decode as those of one, which then makes one
   *     stream of all that are read directly. Damaged bytes would be noticed blocks later
   * @param detectsCorruption whether bytes that cannot be decoded mean that the map output is lost
   */
  record Decoding(SerializerManager serializers, boolean concatenates, boolean detectsCorruption) {
    /** Scala's method throws the exception without declaring it. */
    @SuppressWarnings("RedundantThrows")
    InputStream decode(BlockId block, InputStream in) throws IOException {
      return serializers.wrapStream(block, in);
    }
  }

  private static final Set<TcpReason> SIGNS_OF_A_LOST_PEER = EnumSet.of(
      TcpReason.CONNECT,
      TcpReason.RAIL,
      TcpReason.CONNECT_TIMEOUT,
      TcpReason.BREAKER,
      TcpReason.CONNECTION_LOST,
      TcpReason.TIMEOUT);

  private final DirectFetch fetch;
  private final IdentityHashMap<PeerBlocks, DirectSource> sources = new IdentityHashMap<>();
  private final Others others;
  private final ByClient byClient;
  private final Decoding decoding;
  private final TaskReads reads;
  private final ShuffleReadMetricsReporter metrics;
  private final OwnReads ownReads;
  private final FallbackLog log;

  private @Nullable Tuple2<BlockId, InputStream> ready;

  /** Blocks that were left, which come by TCP, or from files of this executor. */
  private Iterator<Tuple2<BlockId, InputStream>> late = SparkBlocks.none();

  /** Whether TCP is to find out now whether a peer is gone, as no other block may be of use then. */
  private boolean mayBeGone;

  private boolean directEnded;
  private long toldWaitMs;

  DirectBlocks(
      DirectFetch fetch,
      List<DirectSource> direct,
      Others others,
      ByClient byClient,
      Decoding decoding,
      TaskReads reads,
      ShuffleReadMetricsReporter metrics,
      OwnReads ownReads,
      FallbackLog log) {
    this.fetch = fetch;
    direct.forEach(source -> sources.put(source.reads(), source));
    this.others = others;
    this.byClient = byClient;
    this.decoding = decoding;
    this.reads = reads;
    this.metrics = metrics;
    this.ownReads = ownReads;
    this.log = log;
    reads.open().keep(this);
  }

  /** Called by {@link TaskReads} alone, once. */
  @Override
  public void close() {
    fetch.close();
    fetch.times().addTo(reads.counters());
  }

  @Override
  public boolean hasNext() {
    if (ready == null) {
      ready = find();
    }
    return ready != null;
  }

  @Override
  public Tuple2<BlockId, InputStream> next() {
    Tuple2<BlockId, InputStream> block = ready == null ? find() : ready;
    ready = null;
    if (block == null) {
      throw new NoSuchElementException("no more blocks");
    }
    return block;
  }

  private @Nullable Tuple2<BlockId, InputStream> find() {
    while (!late.hasNext()) {
      if (directEnded || mayBeGone) {
        mayBeGone = false;
        List<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks =
            takeLeftBlocks();
        if (!blocks.isEmpty()) {
          reads.requireRunning(null);
          late = byClient.open(blocks);
          continue;
        }
      }
      if (directEnded) {
        return nextOfOthers();
      }
      Tuple2<BlockId, InputStream> next = nextDirect();
      if (next != null) {
        return next;
      }
    }
    return late.next();
  }

  private @Nullable Tuple2<BlockId, InputStream> nextOfOthers() {
    if (others.blocks().hasNext()) {
      return others.blocks().next();
    }
    reads.open().giveBack(others.client());
    reads.open().giveBack(this);
    return null;
  }

  private @Nullable Tuple2<BlockId, InputStream> nextDirect() {
    while (takeNext()) {
      DirectSource source = sourceOf(fetch.peer());
      int block = fetch.block();
      BlockId id = source.id(block);
      AllBlocks all = new AllBlocks();
      InputStream in = decoding.concatenates() ? all : all.block;
      try {
        InputStream decoded = decoding.decode(id, in);
        all.mayTakeMore = true;
        return new Tuple2<>(
            id,
            decoded == in || !decoding.detectsCorruption()
                ? decoded
                : new CheckedBlockStream(decoded, all::fetchFailed));
      } catch (IOException e) {
        leave(source, block, TcpReason.REFETCH, e);
      }
    }
    return null;
  }

  /**
   * The bytes of all blocks that are read directly, from the one taken last, up to one that was staged: its
   * checksum was made when it was staged, so it may be damaged, and a decoder might notice that only in the
   * bytes that follow. No read crosses blocks.
   */
  private final class AllBlocks extends InputStream {
    private DirectSource source;
    private int number;
    private InputStream block;
    private boolean staged;

    /** A decoder that misses its header may read to the end, and then is not made. */
    private boolean mayTakeMore;

    AllBlocks() {
      source = sourceOf(fetch.peer());
      number = fetch.block();
      block = new SliceInputStream(fetch.bytes());
      staged = fetch.origin() != Origin.REGISTERED;
    }

    private boolean nextBlock() {
      if (!mayTakeMore || staged || !takeNext()) {
        return false;
      }
      source = sourceOf(fetch.peer());
      number = fetch.block();
      block = new SliceInputStream(fetch.bytes());
      staged = fetch.origin() != Origin.REGISTERED;
      return true;
    }

    /** The failure of the block that was read last. */
    RuntimeException fetchFailed(IOException cause) {
      return DirectBlocks.this.fetchFailed(source, number, cause);
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      int count = block.read(into, offset, length);
      while (count < 0 && nextBlock()) {
        count = block.read(into, offset, length);
      }
      return count;
    }

    @Override
    public int available() throws IOException {
      return block.available();
    }
  }

  private boolean takeNext() {
    if (directEnded || mayBeGone) {
      return false;
    }
    boolean taken;
    try {
      taken = fetch.next();
    } catch (InterruptedException e) {
      throw Unchecked.thrown(e); // as Spark's own iterator does, by which it knows a killed task
    } finally {
      tellWait();
    }
    takeLeft();
    directEnded = !taken;
    if (taken) {
      count(sourceOf(fetch.peer()), fetch.bytes().lengthBytes());
    }
    return taken;
  }

  /** Spark's metrics have milliseconds. */
  private void tellWait() {
    long waitMs = TimeUnit.NANOSECONDS.toMillis(fetch.waitedNs());
    metrics.incFetchWaitTime(waitMs - toldWaitMs);
    toldWaitMs = waitMs;
  }

  private void takeLeft() {
    for (LeftBlock block : fetch.left()) {
      leave(sourceOf(block.peer()), block.block(), block.reason(), block.cause());
    }
    fetch.left().clear();
  }

  /**
   * Leaves a block to Spark's client, which reads it from the disk if it is this executor's own, else by
   * TCP, unless that does not reach its executor either.
   */
  private void leave(DirectSource source, int block, TcpReason reason, Throwable cause) {
    if (source.isOwn()) {
      ownReads.failed(reason, cause);
      source.leave(block);
      return;
    }
    log.note(source.id(block).name(), source.address().executorId(), reason, cause);
    RdmaCounts.addLeft(reads.counters(), reason);
    if (reason == TcpReason.PEER_UNREACHABLE) {
      throw fetchFailed(source, block, cause);
    }
    source.leave(block);
    mayBeGone |= SIGNS_OF_A_LOST_PEER.contains(reason);
  }

  /** Throws the failure that has Spark compute the block's map output again, unless the task is over. */
  private RuntimeException fetchFailed(DirectSource source, int block, Throwable cause) {
    reads.requireRunning(cause);
    throw Unchecked.thrown(source.fetchFailed(block, cause));
  }

  private List<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> takeLeftBlocks() {
    List<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks = new ArrayList<>();
    for (DirectSource source : sources.values()) {
      List<Tuple3<BlockId, Object, Object>> left = source.takeLeft();
      if (!left.isEmpty()) {
        blocks.add(new Tuple2<>(source.address(), BlockSplit.scalaSeq(left)));
      }
    }
    return blocks;
  }

  private DirectSource sourceOf(PeerBlocks peer) {
    return Objects.requireNonNull(sources.get(peer));
  }

  /** Counts a block when Spark's iterator counts its own. */
  private void count(DirectSource source, long bytes) {
    if (source.isOwn()) {
      metrics.incLocalBytesRead(bytes);
      metrics.incLocalBlocksFetched(1);
    } else {
      metrics.incRemoteBytesRead(bytes);
      metrics.incRemoteBlocksFetched(1);
      metrics.incRemoteReqsDuration(source.takeReadMs());
      RdmaCounts.add(reads.counters(), fetch.origin(), bytes);
    }
  }
}
