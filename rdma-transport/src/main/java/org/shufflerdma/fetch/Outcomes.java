/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.nio.ByteBuffer;
import java.util.List;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports the outcomes of a fetch to its listener: each block once, nothing after a cancel, and no
 * byte before it is verified. Any thread may call.
 */
final class Outcomes {
  private static final Logger LOG = LoggerFactory.getLogger(Outcomes.class);

  private final FetchListener listener;
  private final FetchToken token;
  private final FetchStats stats;
  private final long beganNs = System.nanoTime();

  Outcomes(FetchListener listener, FetchToken token, FetchStats stats) {
    this.listener = listener;
    this.token = token;
    this.stats = stats;
  }

  boolean isCancelled() {
    return token.isCancelled();
  }

  /**
   * Returns false if the checksum does not match; nothing is delivered then. If the listener throws,
   * this method throws the same, and the block can still be failed.
   */
  boolean deliver(PendingBlock block, RegisteredBuffer sink, ReadPlan.Placement placement) {
    int lengthBytes = Math.toIntExact(placement.lengthBytes());
    ByteBuffer bytes = sink.nioBuffer(placement.bufferOffset(), lengthBytes);
    if (!isRight(block, bytes)) {
      stats.checksumMismatches.increment();
      return false;
    }
    if (report(block)) {
      try {
        count(lengthBytes);
        listener.onSuccess(block.request.tag(), sink.slice(placement.bufferOffset(), lengthBytes));
      } catch (Throwable t) {
        block.reopen();
        throw t;
      }
    }
    return true;
  }

  private boolean isRight(PendingBlock block, ByteBuffer bytes) {
    int blocksTimed = FetchStats.blocksTimedBy(bytes.remaining());
    long startNs = blocksTimed == 0 ? 0 : System.nanoTime();
    BlockVerifier verifier = block.descriptor().verifier(block.request);
    verifier.update(bytes);
    if (blocksTimed > 0) {
      stats.checksumTimes.record(System.nanoTime() - startNs, blocksTimed);
    }
    return verifier.isComplete();
  }

  void deliverEmpty(PendingBlock block) {
    if (block.request.sink() != null) {
      deliverStreamed(block, 0);
    } else if (report(block)) {
      count(0);
      handOver(block, () -> listener.onSuccess(block.request.tag(), RegisteredSlice.empty()));
    }
  }

  void deliverStreamed(PendingBlock block, long lengthBytes) {
    if (report(block)) {
      count(lengthBytes);
      handOver(block, () -> listener.onStreamed(block.request.tag(), lengthBytes));
    }
  }

  private void handOver(PendingBlock block, Runnable call) {
    try {
      call.run();
    } catch (Throwable t) {
      block.reopen();
      failUndelivered(block, t);
    }
  }

  /** Fails a block whose delivery the listener did not accept. */
  void failUndelivered(PendingBlock block, Throwable why) {
    LOG.error("The listener of a fetch failed to accept {}", block.request, why);
    fail(block, TcpReason.INTERNAL, why);
  }

  void fail(PendingBlock block, TcpReason reason, Throwable cause) {
    if (report(block)) {
      stats.fallbackTimes.recordSince(beganNs);
      try {
        listener.onFailure(block.request.tag(), reason, cause);
      } catch (Throwable t) { // must not keep the other blocks of the fetch from being reported
        LOG.error("The listener of a fetch failed to accept the failure of {}", block.request, t);
      }
    }
  }

  void failAll(List<PendingBlock> blocks, TcpReason reason, Throwable cause) {
    for (PendingBlock block : blocks) {
      fail(block, reason, cause);
    }
  }

  private boolean report(PendingBlock block) {
    return block.finish() && !token.isCancelled();
  }

  private void count(long lengthBytes) {
    stats.blocksDelivered.increment();
    stats.bytesDelivered.add(lengthBytes);
  }
}
