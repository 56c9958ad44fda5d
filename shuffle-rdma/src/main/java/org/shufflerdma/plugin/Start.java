/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.Workers;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The start of something that serves all tasks of an executor, in a thread of its own. Each task waits for
 * it by itself, so that a task that is killed ends its wait and nobody else's, and holds no lock. Any thread
 * may call. Ends with {@link #close}, which waits for nothing.
 */
final class Start<T extends AutoCloseable> implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");
  private static final long KILL_CHECK_MS = 100;

  private final CompletableFuture<@Nullable T> result = new CompletableFuture<>();
  private final Deadline patience;
  private final AtomicBoolean lateSaid = new AtomicBoolean();

  private Start(Deadline patience) {
    this.patience = patience;
  }

  /**
   * Begins a start, which has nothing as its result if the system gives no thread.
   *
   * @param patience until which tasks wait, all of them counted from now
   */
  static <T extends AutoCloseable> Start<T> begin(
      Supplier<? extends @Nullable T> start, Deadline patience) {
    return begin(step -> Workers.thread("shuffle-rdma-start", step).start(), start, patience);
  }

  /** @param thread runs the start */
  static <T extends AutoCloseable> Start<T> begin(
      Executor thread, Supplier<? extends @Nullable T> start, Deadline patience) {
    Start<T> begun = new Start<>(patience);
    try {
      thread.execute(() -> {
        try {
          begun.result.complete(start.get());
        } catch (Throwable t) {
          begun.result.completeExceptionally(t);
        }
      });
    } catch (OutOfMemoryError e) { // by which Spark would end the executor
      LOG.warn("Shuffle blocks of this executor go by TCP: {}", e.getMessage());
      begun.result.complete(null);
    }
    return begun;
  }

  /**
   * Waits, as long as tasks have patience, and returns what has started; null if that is nothing, or not yet.
   * What the start has thrown is thrown to each caller.
   *
   * @param killCheck is called several times a second, and throws an exception if the task is to end
   */
  @Nullable
  T await(Runnable killCheck) {
    while (true) {
      try {
        return result.get(patience.expired() ? 0 : KILL_CHECK_MS, TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        killCheck.run();
        if (patience.expired()) {
          if (lateSaid.compareAndSet(false, true)) {
            LOG.warn(
                "RDMA takes long to start. Until it has, shuffle blocks of this executor go by TCP");
          }
          return null;
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        killCheck.run();
        return null;
      } catch (ExecutionException e) {
        Throwable cause = Objects.requireNonNullElse(e.getCause(), e);
        throw new IllegalStateException(cause.getMessage(), cause);
      }
    }
  }

  /** Has the action run when something has started, by the thread that has started it; nobody waits for that. */
  void whenStarted(Consumer<? super T> action) {
    var unused = result.thenAccept(started -> {
      if (started != null) {
        action.accept(started);
      }
    });
  }

  /** Returns what has started by now; null if that is nothing. */
  @Nullable
  T now() {
    return result.isCompletedExceptionally() ? null : result.getNow(null);
  }

  /** Closes what has started, or what starts later as soon as it has. */
  @Override
  public void close() {
    var unused = result.thenAccept(started -> {
      try {
        if (started != null) {
          started.close();
        }
      } catch (Exception e) {
        LOG.error("RDMA could not be closed", e);
      }
    });
  }
}
