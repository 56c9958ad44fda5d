/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.util.BitSet;
import java.util.List;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks of one peer that a worker reads by a {@link DirectFetch}, for a client that is called back. After a cancel the
 * listener is not called any more, except for a call that had already begun, and only the device holds
 * buffers that READs may still write to. Any thread may cancel it.
 */
public final class BackgroundFetch {
  private static final Logger LOG = LoggerFactory.getLogger(BackgroundFetch.class);

  private final DirectFetch fetch;
  private final List<BlockRequest> requests;
  private final FetchListener listener;

  /** The blocks whose outcome the listener has been told. Used by the worker alone. */
  private final BitSet told = new BitSet();

  private volatile boolean cancelled;

  /**
   * @param fetch of the requests in their order, which belongs to this from now on
   */
  BackgroundFetch(DirectFetch fetch, List<BlockRequest> requests, FetchListener listener) {
    this.fetch = fetch;
    this.requests = requests;
    this.listener = listener;
  }

  /** Cancels the fetch and returns at once. */
  public void cancel() {
    cancelled = true;
    fetch.close();
  }

  /** Reads all blocks. Called once, by a worker. */
  void run() {
    try (fetch) {
      while (!cancelled && fetch.next()) {
        tellLeft();
        take(fetch.block());
      }
      tellLeft();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      failRest(TcpReason.CLOSED, e);
    } catch (RuntimeException | Error e) {
      if (!cancelled) {
        LOG.error("A fetch failed unexpectedly", e);
      }
      failRest(TcpReason.INTERNAL, e);
    }
  }

  private void take(int block) {
    BlockSink sink = requests.get(block).sink();
    try {
      if (sink == null) {
        deliver(block, fetch.bytes());
      } else {
        write(block, sink, fetch.bytes());
      }
    } catch (RuntimeException | Error e) {
      LOG.error("The listener of a fetch did not accept {}", requests.get(block), e);
      fetch.skipRest();
      fail(block, TcpReason.INTERNAL, e);
    }
  }

  private void deliver(int block, RegisteredSlice bytes) {
    if (!cancelled) {
      bytes.retain(); // the listener's reference
      listener.onSuccess(requests.get(block).tag(), bytes, fetch.origin());
      told.set(block);
    }
  }

  private void write(int block, BlockSink sink, RegisteredSlice piece) {
    try {
      sink.write(piece.nioBuffer());
    } catch (IOException e) {
      fetch.skipRest();
      fail(block, TcpReason.SINK, e);
      return;
    }
    if (fetch.isLastPiece() && !cancelled) {
      listener.onStreamed(requests.get(block).tag(), fetch.bytesOfBlock(), fetch.origin());
      told.set(block);
    }
  }

  private void tellLeft() {
    for (LeftBlock block : fetch.left()) {
      fail(block.block(), block.reason(), block.cause());
    }
    fetch.left().clear();
  }

  private void failRest(TcpReason reason, Throwable cause) {
    for (int block = told.nextClearBit(0);
        block < requests.size();
        block = told.nextClearBit(block + 1)) {
      fail(block, reason, cause);
    }
  }

  private void fail(int block, TcpReason reason, Throwable cause) {
    if (cancelled || told.get(block)) {
      return;
    }
    told.set(block);
    try {
      listener.onFailure(requests.get(block).tag(), reason, cause);
    } catch (RuntimeException | Error e) { // must not keep the other blocks from being told
      LOG.error("The listener of a fetch did not accept the failure of {}", requests.get(block), e);
    }
  }
}
