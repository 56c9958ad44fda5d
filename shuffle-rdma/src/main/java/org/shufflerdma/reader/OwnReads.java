/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.shufflerdma.metrics.TcpReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether an executor reads its own blocks over a connection to itself. It does until that connection
 * fails once: the files are at hand, and no task should wait for the device to get at them. One per
 * executor, for all of its tasks.
 */
final class OwnReads {
  private static final Logger LOG = LoggerFactory.getLogger(OwnReads.class);

  private static final Set<TcpReason> FAILURES_OF_THE_CONNECTION = EnumSet.of(
      TcpReason.CONNECT,
      TcpReason.RAIL,
      TcpReason.CONNECT_TIMEOUT,
      TcpReason.REJECTED,
      TcpReason.NONCE,
      TcpReason.CANARY,
      TcpReason.BREAKER,
      TcpReason.PEER_UNREACHABLE,
      TcpReason.RESOURCES,
      TcpReason.CONNECTION_LOST,
      TcpReason.TIMEOUT);

  private final AtomicBoolean byRdma = new AtomicBoolean(true);

  boolean areByRdma() {
    return byRdma.get();
  }

  /** A block of this executor has not been read. */
  void failed(TcpReason reason, Throwable cause) {
    if (FAILURES_OF_THE_CONNECTION.contains(reason) && byRdma.getAndSet(false)) {
      LOG.warn(
          "This executor reads its own blocks from their files from now on, as its connection to"
              + " itself failed ({}): {}",
          reason.label(),
          cause.getMessage());
    }
  }
}
