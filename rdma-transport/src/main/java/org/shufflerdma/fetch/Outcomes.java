/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.nio.ByteBuffer;
import java.util.List;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.memory.RegisteredSlice;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one place where a fetch talks to its listener: each block once, nothing after cancel, no byte
 * before it is verified. Any thread may call.
 */
final class Outcomes {
  private static final Logger LOG = LoggerFactory.getLogger(Outcomes.class);

  private final FetchListener listener;
  private final FetchToken token;
  private final FetchStats stats;

  Outcomes(FetchListener listener, FetchToken token, FetchStats stats) {
    this.listener = listener;
    this.token = token;
    this.stats = stats;
  }

  boolean isCancelled() {
    return token.isCancelled();
  }

  /** False if the bytes do not have their checksum; nothing is delivered then. */
  boolean deliver(PendingBlock block, RegisteredBuffer sink, ReadPlan.Placement placement) {
    int lengthBytes = Math.toIntExact(placement.lengthBytes());
    ByteBuffer bytes = sink.nioBuffer(placement.bufferOffset(), lengthBytes);
    BlockVerifier verifier = block.descriptor().verifier(block.request);
    verifier.update(bytes);
    if (!verifier.isComplete()) {
      stats.checksumMismatches.increment();
      return false;
    }
    if (report(block)) {
      RegisteredSlice slice = sink.slice(placement.bufferOffset(), lengthBytes);
      count(lengthBytes);
      guarded(() -> listener.onSuccess(block.request.tag(), slice));
    }
    return true;
  }

  void deliverEmpty(PendingBlock block) {
    if (block.request.sink() != null) {
      deliverStreamed(block, 0);
    } else if (report(block)) {
      count(0);
      guarded(() -> listener.onSuccess(block.request.tag(), RegisteredSlice.empty()));
    }
  }

  void deliverStreamed(PendingBlock block, long lengthBytes) {
    if (report(block)) {
      count(lengthBytes);
      guarded(() -> listener.onStreamed(block.request.tag(), lengthBytes));
    }
  }

  void fail(PendingBlock block, FetchFailureReason reason, Throwable cause) {
    if (report(block)) {
      stats.countFailure(reason);
      guarded(() -> listener.onFailure(block.request.tag(), reason, cause));
    }
  }

  void failAll(List<PendingBlock> blocks, FetchFailureReason reason, Throwable cause) {
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

  /** Catches what a listener throws, which must not stop the thread that serves all others. */
  private static void guarded(Runnable call) {
    try {
      call.run();
    } catch (RuntimeException e) {
      LOG.error("A fetch listener failed", e);
    }
  }
}
