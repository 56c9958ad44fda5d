/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;

/** The completion of a list that a thread waits for. */
public final class AwaitedCompletion implements ReadCompletion {
  private static final int STEP_MS = 100;

  private final @Nullable CompletionPoller poller;
  private final CompletableFuture<@Nullable ReadFailure> outcome = new CompletableFuture<>();

  /** One for which the turning thread of the poller is woken. */
  public AwaitedCompletion() {
    this(null);
  }

  /** One for which the thread that waits polls; nobody else may be waiting for it. */
  public AwaitedCompletion(@Nullable CompletionPoller poller) {
    this.poller = poller;
  }

  @Override
  public boolean isPolledFor() {
    return poller != null;
  }

  @Override
  public void succeeded() {
    outcome.complete(null);
  }

  @Override
  public void failed(ReadFailure failure) {
    outcome.complete(failure);
  }

  /** Null if all bytes are in the buffer. */
  public @Nullable ReadFailure await(Deadline deadline)
      throws InterruptedException, TimeoutException {
    return await(deadline, () -> {});
  }

  /**
   * The same.
   *
   * @param whileWaiting called about every 100 ms; what it throws ends the wait
   */
  public @Nullable ReadFailure await(Deadline deadline, Runnable whileWaiting)
      throws InterruptedException, TimeoutException {
    if (poller == null) {
      return get(deadline, whileWaiting);
    }
    poller.poll();
    if (outcome.isDone()) {
      return outcome.join();
    }
    poller.expect();
    try {
      poller.poll();
      return get(deadline, whileWaiting);
    } finally {
      poller.expectNoMore();
    }
  }

  private @Nullable ReadFailure get(Deadline deadline, Runnable whileWaiting)
      throws InterruptedException, TimeoutException {
    while (true) {
      try {
        return outcome.get(deadline.atMostMs(STEP_MS).remainingNs(), TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        if (deadline.expired()) {
          throw e;
        }
        whileWaiting.run();
      } catch (ExecutionException e) {
        throw new IllegalStateException("the outcome is never an exception", e);
      }
    }
  }
}
