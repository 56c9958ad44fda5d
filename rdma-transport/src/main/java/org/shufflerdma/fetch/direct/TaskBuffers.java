/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TaskTimes;

/**
 * Leases the buffers of one fetch of a task, for descriptors and for blocks. The task waits for a buffer
 * only if none of its fetches holds one, or else it might wait for itself; if others of its fetches do, it
 * waits for a moment, as other tasks may give one back. Used by one thread at a time.
 */
final class TaskBuffers {
  private static final long MOMENT_NS = TimeUnit.MILLISECONDS.toNanos(50);

  private final FetchContext context;
  private final BooleanSupplier holdsBuffers;
  private final Supplier<TaskFetches.Room> others;
  private final TaskTimes times;

  /** How long the task may still wait: an empty pool must not keep each list and each peer waiting. */
  private long patienceNs;

  private long waitedNs;

  /**
   * @param holdsBuffers whether the task will give back a buffer without waiting for one
   * @param others has the task's other fetches make room
   * @param times is told for how long the task has waited
   */
  TaskBuffers(
      FetchContext context,
      BooleanSupplier holdsBuffers,
      Supplier<TaskFetches.Room> others,
      TaskTimes times) {
    this.context = context;
    this.holdsBuffers = holdsBuffers;
    this.others = others;
    this.times = times;
    renewPatience();
  }

  /**
   * Leases a buffer; null if none is free and the task is to give one back first.
   *
   * @param holdsMore whether the caller has a buffer of which {@code holdsBuffers} does not know
   * @throws IOException if none became free in time
   */
  @Nullable
  RegisteredBuffer lease(long lengthBytes, boolean holdsMore)
      throws IOException, InterruptedException {
    RegisteredBuffer buffer = context.buffers().tryAcquire(lengthBytes);
    if (buffer != null || holdsMore || holdsBuffers.getAsBoolean()) {
      return buffer;
    }
    boolean waitsForItself = others.get() == TaskFetches.Room.KEPT;
    long mostNs = waitsForItself ? Math.min(MOMENT_NS, patienceNs) : patienceNs;
    Deadline deadline = Deadline.afterNs(mostNs);
    long startNs = System.nanoTime();
    // READs of tasks that are gone hold buffers until somebody takes their completions.
    context.poller().expect();
    try {
      context.poller().poll();
      return context.buffers().acquire(lengthBytes, deadline);
    } finally {
      context.poller().expectNoMore();
      long ns = System.nanoTime() - startNs;
      waitedNs += ns;
      times.add(TaskTime.POOL, ns);
      patienceNs -= mostNs - deadline.remainingNs();
    }
  }

  /** Nanoseconds for which the task has waited so far. */
  long waitedNs() {
    return waitedNs;
  }

  /** The task gets on, and may wait anew. */
  void renewPatience() {
    patienceNs = TimeUnit.MILLISECONDS.toNanos(context.poolWaitMs());
  }
}
