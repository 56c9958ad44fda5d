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
  private final CompletableFuture<@Nullable ReadFailure> outcome = new CompletableFuture<>();

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
    try {
      return outcome.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw new IllegalStateException("the outcome is never an exception", e);
    }
  }
}
