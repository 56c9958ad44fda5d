/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;

@Timeout(60)
class WaitingLineTest {
  private static final Deadline LATE = Deadline.afterMs(50_000);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final WaitingLine<String> line = new WaitingLine<>(changed);
  private final Deque<String> items = new ArrayDeque<>();

  private <T> T locked(Callable<T> action) throws Exception {
    lock.lock();
    try {
      return action.call();
    } finally {
      lock.unlock();
    }
  }

  private Future<String> inBackground(WaitingLine.Look<String> look) {
    FutureTask<String> task = new FutureTask<>(() -> locked(() -> line.await(look, LATE)));
    Thread thread = new Thread(task, "waiter");
    thread.setDaemon(true);
    thread.start();
    return task;
  }

  @Test
  void whoeverHasNotWaitedTakesNothingBeforeThoseWhoHaveLookedForIt() throws Exception {
    Future<String> waiter = inBackground(items::poll);
    Await.until(() -> locked(() -> lock.hasWaiters(changed)));
    assertThat(locked(line::haveLooked)).isTrue();
    locked(() -> {
      items.add("item");
      line.tellOfChange();
      assertThat(line.haveLooked()).isFalse();
      return null;
    });
    assertThat(waiter.get(50, TimeUnit.SECONDS)).isEqualTo("item");
    assertThat(locked(line::haveLooked)).isTrue();
  }

  /** As one does that registers a slab, which may take a second. */
  @Test
  void whoeverLooksWithoutTheLockKeepsNoOthersFromLooking() throws Exception {
    CountDownLatch looks = new CountDownLatch(1);
    CountDownLatch ends = new CountDownLatch(1);
    Future<String> slow = inBackground(() -> {
      lock.unlock();
      try {
        looks.countDown();
        ends.await();
        return "slow";
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      } finally {
        lock.lock();
      }
    });
    looks.await();
    String quick = locked(() -> {
      line.tellOfChange();
      assertThat(line.haveLooked()).isTrue();
      return line.await(() -> "quick", LATE);
    });
    assertThat(quick).isEqualTo("quick");
    ends.countDown();
    assertThat(slow.get(50, TimeUnit.SECONDS)).isEqualTo("slow");
  }
}
