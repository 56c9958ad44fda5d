/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.concurrent.Workers;

/**
 * The threads that hand blocks to Spark's client, which connects in the calling thread and may take
 * minutes to give up a silent host: one at a time for each host, so that such a host leaves the
 * others theirs. Closed by its owner after the fetcher, which hands over blocks until it is closed.
 * Any thread may call.
 */
public final class FallbackThreads implements AutoCloseable {
  private static final int THREADS = 8;
  private static final int CLOSE_MS = 2_000;

  private final ThreadPoolExecutor threads = Workers.pool("rdma-fallback", THREADS);
  private final PerPeerExecutor<String> lanes = new PerPeerExecutor<>(threads, 1);
  private volatile boolean closing;
  private volatile boolean closed;

  /** Runs {@code send} in a thread of its own, or {@code refuse} if this is closed by then. */
  void execute(String host, Runnable send, Runnable refuse) {
    if (closing) {
      refuse.run();
    } else {
      lanes.execute(host, () -> (closed ? refuse : send).run());
    }
  }

  /** Goes on sending for two seconds at most, then interrupts the threads and refuses the rest. */
  @Override
  public void close() {
    closing = true;
    threads.shutdown();
    try {
      threads.awaitTermination(CLOSE_MS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    closed = true;
    threads.shutdownNow().forEach(Runnable::run);
  }
}
