/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import java.io.IOException;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.fetch.FetchListener;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.ReadCounters;
import org.shufflerdma.metrics.TcpReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The RDMA part of one request of Spark's block iterator. It hands over the blocks that arrive, and
 * leaves the others to TCP. The task's thread fills it; then a worker of the fetcher calls it, once per block.
 */
final class FetchAttempt implements FetchListener {
  private static final Logger LOG = LoggerFactory.getLogger(FetchAttempt.class);

  /** A block that is being fetched. */
  private static final class Expected {
    private final String blockId;
    private final ShuffleBlockName name;

    /** Null if the block is delivered in memory. */
    private final @Nullable FileSink sink;

    /** Whether Spark's listener may have taken it. */
    private volatile boolean handedOver;

    Expected(String blockId, ShuffleBlockName name, @Nullable FileSink sink) {
      this.blockId = blockId;
      this.name = name;
      this.sink = sink;
    }
  }

  private final BlockFetchingListener listener;
  private final TcpRoute tcp;
  private final @Nullable Set<ShuffleBlockName> delivered;
  private final ReadCounters counters;
  private final FallbackLog log;

  /** By their tags, which are their places in the request. */
  private final AtomicReferenceArray<@Nullable Expected> expected;

  /** Guarded by this. */
  private boolean ended;

  FetchAttempt(
      int blocks,
      BlockFetchingListener listener,
      TcpRoute tcp,
      @Nullable Set<ShuffleBlockName> delivered,
      ReadCounters counters,
      FallbackLog log) {
    this.expected = new AtomicReferenceArray<>(blocks);
    this.listener = listener;
    this.tcp = tcp;
    this.delivered = delivered;
    this.counters = counters;
    this.log = log;
  }

  /** The block with this tag will be fetched by RDMA. */
  void expect(int tag, String blockId, ShuffleBlockName name, @Nullable FileSink sink) {
    expected.set(tag, new Expected(blockId, name, sink));
  }

  private Expected find(long tag) {
    Expected block = expected.get(Math.toIntExact(tag));
    if (block == null) {
      throw new IllegalArgumentException("no block has tag " + tag);
    }
    return block;
  }

  /** Forgets a block whose outcome has been reported: a task can read very many blocks. */
  private void told(long tag) {
    expected.set(Math.toIntExact(tag), null);
  }

  @Override
  public void onSuccess(long tag, RegisteredSlice slice, Origin origin) {
    try {
      handOver(find(tag), slice, origin);
      told(tag);
    } finally {
      slice.release();
    }
  }

  private void handOver(Expected block, RegisteredSlice slice, Origin origin) {
    long lengthBytes = slice.lengthBytes();
    RdmaManagedBuffer buffer =
        new RdmaManagedBuffer(slice, () -> RdmaCounts.add(counters, origin, lengthBytes));
    noteHandedOver(block);
    try {
      listener.onBlockFetchSuccess(block.blockId, buffer);
    } catch (Throwable t) {
      buffer.revoke();
      throw t;
    }
  }

  private void noteHandedOver(Expected block) {
    block.handedOver = true;
    if (delivered != null) {
      delivered.add(block.name);
    }
  }

  @Override
  public void onStreamed(long tag, long lengthBytes, Origin origin) {
    Expected block = find(tag);
    finish(block, lengthBytes, origin);
    told(tag);
  }

  private void finish(Expected block, long lengthBytes, Origin origin) {
    FileSink sink = block.sink;
    if (sink == null) {
      throw new IllegalStateException("block " + block.blockId + " has no sink");
    }
    ManagedBuffer contents;
    try {
      contents = sink.finish();
    } catch (IOException e) {
      LOG.warn(
          "Block {} could not be written to a temporary file and is fetched by TCP",
          block.blockId,
          e);
      RdmaCounts.addLeft(counters, TcpReason.FILE);
      tcp.take(block.blockId);
      return;
    }
    handOver(block, contents, lengthBytes, origin);
  }

  /** Hands over a file unless the task has ended: nobody would delete the file then. */
  private synchronized void handOver(
      Expected block, ManagedBuffer contents, long lengthBytes, Origin origin) {
    if (!ended) {
      noteHandedOver(block);
      RdmaCounts.add(counters, origin, lengthBytes);
      listener.onBlockFetchSuccess(block.blockId, contents);
    }
  }

  @Override
  public void onFailure(long tag, TcpReason reason, Throwable cause) {
    Expected block = find(tag);
    try {
      report(block, reason, cause);
    } catch (Throwable t) { // a block that nobody reports would be waited for without end
      listener.onBlockFetchFailure(block.blockId, t);
    }
    told(tag);
  }

  /**
   * Reports a block that RDMA did not deliver. A block that has been handed over is not fetched again,
   * because Spark's listener may have taken it before it threw.
   */
  private void report(Expected block, TcpReason reason, Throwable cause) {
    log.note(block.blockId, tcp.executorId(), reason, cause);
    closeQuietly(block.sink);
    RdmaCounts.addLeft(counters, reason);
    if (reason == TcpReason.PEER_UNREACHABLE || block.handedOver) {
      listener.onBlockFetchFailure(block.blockId, cause);
    } else {
      tcp.take(block.blockId);
    }
  }

  /** Ends the attempt of a task that ends: no file is handed over or written after this. */
  void end() {
    synchronized (this) {
      ended = true;
    }
    for (int tag = 0; tag < expected.length(); tag++) {
      Expected block = expected.get(tag);
      if (block != null) {
        closeQuietly(block.sink);
      }
    }
  }

  private static void closeQuietly(@Nullable FileSink sink) {
    if (sink != null) {
      try {
        sink.close();
      } catch (IOException e) {
        LOG.debug("A temporary file could not be closed", e);
      }
    }
  }
}
