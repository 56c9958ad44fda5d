/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;

@Timeout(60)
class SendBudgetTest {
  private final SendBudget budget = new SendBudget(8);

  private CompletableFuture<Boolean> acquireLater(int places, Deadline deadline) {
    return CompletableFuture.supplyAsync(() -> acquire(places, deadline));
  }

  private boolean acquire(int places, Deadline deadline) {
    try {
      return budget.acquire(places, deadline);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void givesNoMorePlacesThanTheQueueHas() throws Exception {
    assertThat(budget.acquire(8, Deadline.afterMs(0))).isTrue();
    assertThat(budget.acquire(1, Deadline.afterMs(10))).isFalse();
  }

  @Test
  void aWaiterGetsThePlacesThatComeBack() throws Exception {
    budget.acquire(8, Deadline.afterMs(0));
    CompletableFuture<Boolean> waiter = acquireLater(4, Deadline.afterMs(50_000));
    budget.release(4);
    assertThat(waiter.get(50, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void aLongListIsNotOvertakenByShortOnes() throws Exception {
    budget.acquire(8, Deadline.afterMs(0));
    AtomicBoolean served = new AtomicBoolean();
    Thread longList = new Thread(() -> served.set(acquire(8, Deadline.afterMs(50_000))));
    longList.start();
    Await.atMost(50_000, () -> longList.getState() == Thread.State.TIMED_WAITING);
    budget.release(1);
    assertThat(budget.acquire(1, Deadline.afterMs(0))).isFalse();
    budget.release(7);
    longList.join(50_000);
    assertThat(served).isTrue();
  }

  @Test
  void aWaiterIsToldOfTheClose() throws Exception {
    budget.acquire(8, Deadline.afterMs(0));
    CompletableFuture<Boolean> waiter = acquireLater(1, Deadline.afterMs(50_000));
    budget.close();
    assertThat(waiter.get(50, TimeUnit.SECONDS)).isFalse();
  }

  @Test
  void placesThatComeBackTwiceAreADefect() throws Exception {
    budget.acquire(1, Deadline.afterMs(0));
    budget.release(1);
    assertThatThrownBy(() -> budget.release(1)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aListLongerThanTheQueueIsRefused() {
    assertThatThrownBy(() -> budget.acquire(9, Deadline.afterMs(0)))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
