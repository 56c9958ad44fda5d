/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;

@Timeout(60)
class StartTest {
  private final CountDownLatch mayEnd = new CountDownLatch(1);
  private final CompletableFuture<Boolean> closed = new CompletableFuture<>();

  private AutoCloseable start() {
    try {
      mayEnd.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException("nobody interrupts the start", e);
    }
    return () -> closed.complete(true);
  }

  @Test
  void aStartThatDoesNotEndIsWaitedForUntilTheDeadlineAndClosedWhenItEnds() throws Exception {
    assertThatThrownBy(() -> Start.run(this::start, Deadline.afterMs(50)))
        .isInstanceOf(TimeoutException.class);
    mayEnd.countDown();
    assertThat(closed.get(50, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void anInterruptedTaskWaitsForTheStartAndStaysInterrupted() throws Exception {
    Thread.currentThread().interrupt();
    mayEnd.countDown();
    assertThat(Start.run(this::start, Deadline.afterMs(50_000))).isNotNull();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(closed).isNotDone();
  }

  @Test
  void whatTheStartThrowsIsThrown() {
    assertThatThrownBy(() -> Start.run(
            () -> {
              throw new UnsupportedOperationException("of a test");
            },
            Deadline.afterMs(50_000)))
        .isInstanceOf(UnsupportedOperationException.class);
  }
}
