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
    if (poller == null) {
      return get(deadline);
    }
    poller.poll();
    if (outcome.isDone()) {
      return outcome.join();
    }
    poller.expect();
    try {
      poller.poll();
      return get(deadline);
    } finally {
      poller.expectNoMore();
    }
  }

  private @Nullable ReadFailure get(Deadline deadline)
      throws InterruptedException, TimeoutException {
    try {
      return outcome.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw new IllegalStateException("the outcome is never an exception", e);
    }
  }
}
