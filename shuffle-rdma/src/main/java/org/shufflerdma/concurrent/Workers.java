/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Makes the daemon threads of the transport; all of them end with their owner's close. */
public final class Workers {
  private static final int IDLE_SECONDS = 10;

  private Workers() {}

  public static Thread thread(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    return thread;
  }

  /** At most {@code maxThreads} threads that end when they have been idle for a while. */
  public static ThreadPoolExecutor pool(String name, int maxThreads) {
    AtomicInteger sequence = new AtomicInteger();
    ThreadFactory factory = body -> thread(name + "-" + sequence.getAndIncrement(), body);
    ThreadPoolExecutor pool = new ThreadPoolExecutor(
        maxThreads,
        maxThreads,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(),
        factory);
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }
}
