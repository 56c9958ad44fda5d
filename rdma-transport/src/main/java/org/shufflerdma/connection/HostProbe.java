/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Asks the host of one peer by TCP whether it is there. Threads that ask at the same time share one
 * answer, and silence is believed for a while. Any thread may call.
 */
final class HostProbe {
  /** Long enough for the many who wait for the same host one after the other. */
  private static final long SILENCE_BELIEVED_NS = TimeUnit.SECONDS.toNanos(3);

  // Guarded by this, which is held while the host is asked.
  private @Nullable InetSocketAddress asked;
  private boolean answered;
  private long askedNs;

  /** May take {@link TcpProbe#TOTAL_MS}, and as long again if another thread asks. */
  boolean isAnswering(InetSocketAddress tcpAddress) {
    long nowNs = System.nanoTime();
    InetSocketAddress resolved = TcpProbe.resolve(tcpAddress);
    synchronized (this) {
      long validNs = answered ? 0 : SILENCE_BELIEVED_NS;
      if (!resolved.equals(asked) || askedNs + validNs - nowNs < 0) {
        answered = TcpProbe.isAnswered(resolved);
        asked = resolved;
        askedNs = System.nanoTime();
      }
      return answered;
    }
  }
}
