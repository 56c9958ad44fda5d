/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.Workers;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts something that serves all tasks of an executor, in a thread of its own, so that a task that
 * is killed while it waits does not interrupt the start for the others.
 */
final class Start {
  private static final Logger LOG = LoggerFactory.getLogger(Start.class);

  private Start() {}

  /**
   * Waits for {@code start}, even if the caller is interrupted. If it returns something after the
   * deadline, that is closed.
   *
   * @throws TimeoutException if the start did not end until the deadline
   */
  static <T extends AutoCloseable> @Nullable T run(
      Supplier<? extends @Nullable T> start, Deadline deadline) throws TimeoutException {
    CompletableFuture<@Nullable T> result = new CompletableFuture<>();
    Thread starter = Workers.thread("shuffle-rdma-start", () -> {
      try {
        @Nullable T started = start.get();
        if (!result.complete(started) && started != null) {
          closeLate(started);
        }
      } catch (Throwable t) {
        result.completeExceptionally(t);
      }
    });
    starter.start();
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return result.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (TimeoutException e) {
          if (result.completeExceptionally(e)) {
            throw new TimeoutException("RDMA did not start in time");
          }
        }
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException cause
          ? cause
          : new IllegalStateException("RDMA failed to start", e.getCause());
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static void closeLate(AutoCloseable started) {
    try {
      started.close();
    } catch (Exception e) {
      LOG.error("RDMA started after its deadline and could not be closed", e);
    }
  }
}
