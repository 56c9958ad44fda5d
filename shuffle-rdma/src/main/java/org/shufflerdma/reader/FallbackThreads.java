/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.concurrent.ThreadPoolExecutor;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.concurrent.Workers;

/**
 * The threads that hand blocks to Spark's client, which connects in the calling thread and may take
 * minutes to give up a silent host: one at a time for each host, so that such a host leaves the
 * others theirs. Closed by its owner after the fetcher. Any thread may call.
 */
public final class FallbackThreads implements AutoCloseable {
  private static final int THREADS = 8;

  private final ThreadPoolExecutor threads = Workers.pool("rdma-fallback", THREADS);
  private final PerPeerExecutor<String> lanes = new PerPeerExecutor<>(threads, 1);
  private volatile boolean closed;

  /** Runs one of both: what sends to the host, later; or what refuses to, if this is closed by then. */
  void execute(String host, Runnable send, Runnable refuse) {
    lanes.execute(host, () -> (closed ? refuse : send).run());
  }

  /** Interrupts what is being sent, and refuses what waits. */
  @Override
  public void close() {
    closed = true;
    threads.shutdownNow().forEach(Runnable::run);
  }
}
