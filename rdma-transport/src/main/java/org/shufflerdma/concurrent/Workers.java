/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Creates the daemon threads of the transport. All of them end with their owner's close. */
public final class Workers {
  private static final Logger LOG = LoggerFactory.getLogger(Workers.class);

  private Workers() {}

  /**
   * Makes a thread, which is not started yet. It sees the plugin's classes, not those of the task that happens to
   * make it, whose session may have a class loader of its own that is to be freed with the session.
   */
  public static Thread thread(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setContextClassLoader(Workers.class.getClassLoader());
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Starts a fixed number of threads and keeps them until the shutdown. A command therefore never
   * needs a new thread, which a system at its limit would refuse. A command that throws is logged.
   *
   * @throws OutOfMemoryError if the system does not provide the threads
   */
  public static ThreadPoolExecutor pool(String name, int threads) {
    ThreadPoolExecutor pool = poolOnDemand(name, threads);
    try {
      pool.prestartAllCoreThreads();
      return pool;
    } catch (Throwable t) {
      pool.shutdownNow();
      throw t;
    }
  }

  /**
   * Like {@link #pool}, but each of the first commands starts a thread. A system at its limit may refuse that,
   * by an OutOfMemoryError that the caller of {@code execute} gets, who then runs the command himself.
   */
  public static ThreadPoolExecutor poolOnDemand(String name, int threads) {
    AtomicInteger sequence = new AtomicInteger();
    return new Pool(threads, body -> thread(name + "-" + sequence.getAndIncrement(), body));
  }

  private static final class Pool extends ThreadPoolExecutor {
    Pool(int threads, ThreadFactory factory) {
      super(threads, threads, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
    }

    /** Catches what a command throws, which would end the thread otherwise. */
    @Override
    public void execute(Runnable command) {
      super.execute(() -> {
        try {
          command.run();
        } catch (Throwable t) {
          LOG.error("A command of thread {} failed", Thread.currentThread().getName(), t);
        }
      });
    }
  }
}
