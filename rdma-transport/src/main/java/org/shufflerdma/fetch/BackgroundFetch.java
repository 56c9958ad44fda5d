/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.util.BitSet;
import java.util.List;
import java.util.function.Consumer;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.DirectFetch.LeftBlock;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks of one peer that a worker reads by a {@link DirectFetch}, for a client that is called back. After a cancel the
 * listener is not called any more, except for a call that had already begun. The worker gives its buffers back as {@link
 * DirectFetch#close} says. Any thread may cancel it.
 */
public final class BackgroundFetch {
  private static final Logger LOG = LoggerFactory.getLogger(BackgroundFetch.class);

  private final DirectFetch fetch;
  private final Consumer<BackgroundFetch> starter;
  private final List<BlockRequest> requests;
  private final FetchListener listener;

  /** The blocks whose outcome the listener has been told. Used by the worker alone. */
  private final BitSet told = new BitSet();

  private volatile boolean cancelled;
  private volatile boolean ended;

  /**
   * @param fetch of the requests in their order, which belongs to this from now on
   * @param starter has a worker {@link #run} it
   */
  BackgroundFetch(
      DirectFetch fetch,
      List<BlockRequest> requests,
      FetchListener listener,
      Consumer<BackgroundFetch> starter) {
    this.fetch = fetch;
    this.requests = requests;
    this.listener = listener;
    this.starter = starter;
  }

  /** Has a worker begin, or, if the system gives no thread, does the work itself. Called once. */
  public void start() {
    starter.accept(this);
  }

  /** Cancels the fetch and returns at once. */
  public void cancel() {
    cancelled = true;
    fetch.close();
  }

  /** Reads all blocks. */
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
    } catch (Throwable t) { // a block that nobody tells would be waited for without end
      if (!cancelled) {
        LOG.error("A fetch failed unexpectedly", t);
      }
      failRest(TcpReason.INTERNAL, t);
    } finally {
      ended = true;
    }
  }

  /** Whether the listener has been told all that it will be told. */
  public boolean hasEnded() {
    return ended;
  }

  private void take(int block) {
    BlockRequest request = requests.get(block);
    BlockSink sink = request.sink();
    try {
      if (sink == null) {
        deliver(block, request, fetch.bytes(), fetch.origin());
      } else {
        write(block, request, sink, fetch.bytes());
      }
    } catch (Throwable t) {
      if (!cancelled) {
        LOG.error("The listener of a fetch did not accept {}", request, t);
        fetch.skipRest();
        fail(block, TcpReason.INTERNAL, t);
      }
    }
  }

  private void deliver(int block, BlockRequest request, RegisteredSlice bytes, Origin origin) {
    if (!cancelled) {
      bytes.retain(); // the listener's reference, which it releases also if it throws
      listener.onSuccess(request.tag(), bytes, origin);
      told.set(block);
    }
  }

  /** Holds the piece while it is written, as a cancel gives up the fetch's own hold. */
  private void write(int block, BlockRequest request, BlockSink sink, RegisteredSlice piece) {
    piece.retain();
    try {
      sink.write(piece.nioBuffer());
    } catch (IOException e) {
      if (!cancelled) {
        fetch.skipRest();
        fail(block, TcpReason.SINK, e);
      }
      return;
    } finally {
      piece.release();
    }
    if (!cancelled && fetch.isLastPiece()) {
      listener.onStreamed(request.tag(), fetch.bytesOfBlock(), fetch.origin());
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
    } catch (Throwable t) { // must not keep the other blocks from being told
      LOG.error("The listener of a fetch did not accept the failure of {}", requests.get(block), t);
    }
  }
}
