/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A daemon thread that repeats one step until it is stopped. If the step throws, the thread ends
 * and notifies its owner, which fails everything that waits on it.
 */
public final class LoopThread {
  private static final Logger LOG = LoggerFactory.getLogger(LoopThread.class);
  private static final int STOP_MS = 5_000;

  /** Runs one turn, which waits at most a second, so that the thread can be stopped. */
  public interface Step {
    void run() throws Exception;
  }

  private final String name;
  private final Step step;
  private volatile @Nullable Thread thread;
  private volatile boolean stopping;

  public LoopThread(String name, Step step) {
    this.name = name;
    this.step = step;
  }

  public void start(Consumer<Throwable> onDeath) {
    Thread started = Workers.thread(name, () -> loop(onDeath));
    thread = started;
    started.start();
  }

  private void loop(Consumer<Throwable> onDeath) {
    try {
      while (!stopping) {
        step.run();
      }
    } catch (Throwable t) {
      LOG.error("Thread {} dies, and whatever waits for it fails from now on", name, t);
      onDeath.accept(t);
    }
  }

  public boolean isAlive() {
    Thread started = thread;
    return started != null && started.isAlive();
  }

  /**
   * Ends the thread after its current step. An interrupt is only thrown once the thread has ended, as the caller gives back what the
   * thread uses.
   */
  public void stop() throws InterruptedException {
    stopping = true;
    Thread started = thread;
    if (started != null) {
      Ended.await(name, STOP_MS, ms -> {
        started.join(ms);
        return !started.isAlive();
      });
    }
  }
}
