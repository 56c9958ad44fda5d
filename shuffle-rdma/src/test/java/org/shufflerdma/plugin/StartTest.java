/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;

@Timeout(60)
class StartTest {
  private final CountDownLatch mayEnd = new CountDownLatch(1);
  private final CompletableFuture<Boolean> closed = new CompletableFuture<>();

  private static void notKilled() {}

  private AutoCloseable start() {
    try {
      mayEnd.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException("nobody interrupts the start", e);
    }
    return () -> closed.complete(true);
  }

  private Start<AutoCloseable> begin(long patienceMs) {
    return Start.begin(this::start, Deadline.afterMs(patienceMs));
  }

  @Test
  void tasksThatHaveLostPatienceGoOnAndLaterOnesHaveWhatHasStarted() {
    Start<AutoCloseable> start = begin(0);
    assertThat(start.await(StartTest::notKilled)).isNull();
    assertThat(start.now()).isNull();
    mayEnd.countDown();
    while (start.await(StartTest::notKilled) == null) {
      Thread.onSpinWait();
    }
    assertThat(start.now()).isNotNull();
  }

  @Test
  void aSystemThatGivesNoThreadLeavesTheExecutorWithoutWhatWouldHaveStarted() {
    Executor none = step -> {
      throw new OutOfMemoryError("unable to create native thread");
    };
    Start<AutoCloseable> start =
        Start.begin(none, this::start, Deadline.afterMs(Integer.MAX_VALUE));
    assertThat(start.await(StartTest::notKilled)).isNull();
    start.close();
  }

  @Test
  void aTaskThatIsKilledEndsItsWait() {
    AtomicInteger checks = new AtomicInteger();
    assertThatThrownBy(() -> begin(Integer.MAX_VALUE).await(() -> {
          if (checks.incrementAndGet() == 3) {
            throw new UnsupportedOperationException("killed");
          }
        }))
        .isInstanceOf(UnsupportedOperationException.class);
  }

  @Test
  void anInterruptedTaskEndsItsWaitAndStaysInterrupted() {
    Start<AutoCloseable> start = begin(Integer.MAX_VALUE);
    Thread.currentThread().interrupt();
    assertThat(start.await(StartTest::notKilled)).isNull();
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void whoeverClosesWaitsForNothingAndWhatStartsLaterIsClosed() throws Exception {
    begin(Integer.MAX_VALUE).close();
    assertThat(closed).isNotDone();
    mayEnd.countDown();
    assertThat(closed.get(50, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void whatTheStartThrowsIsThrownToEachTask() {
    Start<AutoCloseable> start = Start.begin(
        () -> {
          throw new UnsupportedOperationException("of a test");
        },
        Deadline.afterMs(Integer.MAX_VALUE));
    for (int task = 0; task < 2; task++) {
      assertThatThrownBy(() -> start.await(StartTest::notKilled))
          .hasMessage("of a test")
          .hasCauseInstanceOf(UnsupportedOperationException.class);
    }
  }
}
