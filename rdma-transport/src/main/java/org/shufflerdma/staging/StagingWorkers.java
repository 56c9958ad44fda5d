/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.util.concurrent.Executor;
import java.util.concurrent.ThreadPoolExecutor;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Workers;

/**
 * The threads that read map outputs into registered memory, for one server or for several. They start when a
 * server asks for them, as most executors never stage anything. Any thread may call; the owner closes it after the servers.
 */
public final class StagingWorkers implements AutoCloseable {
  private final int threads;
  private @Nullable ThreadPoolExecutor pool; // guarded by this
  private boolean closed; // guarded by this

  public StagingWorkers(int threads) {
    this.threads = threads;
  }

  public int threads() {
    return threads;
  }

  /** Starts the threads, unless they run. Throws if the system refuses them, or after the end. */
  public synchronized Executor start() {
    if (closed) {
      throw new IllegalStateException("nothing is staged any more");
    }
    ThreadPoolExecutor started = pool;
    if (started == null) {
      started = Workers.pool("rdma-staging", threads);
      pool = started;
    }
    return started;
  }

  @Override
  public synchronized void close() {
    closed = true;
    if (pool != null) {
      pool.shutdown();
    }
  }
}
