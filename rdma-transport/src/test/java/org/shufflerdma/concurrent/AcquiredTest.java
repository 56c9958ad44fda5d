/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AcquiredTest {
  private final List<String> closed = new ArrayList<>();
  private final Acquired acquired = new Acquired();

  @Test
  void everythingIsGivenBackOnceInReverseOrder() {
    acquired.keep(() -> closed.add("first"));
    acquired.keep(() -> closed.add("second"));
    acquired.close();
    acquired.close();
    assertThat(closed).containsExactly("second", "first");
  }

  @Test
  void oneThatIsGivenBackBeforeTheOthersIsClosedOnce() {
    AutoCloseable first = acquired.keep(() -> closed.add("first"));
    acquired.keep(() -> closed.add("second"));
    acquired.giveBack(first);
    acquired.giveBack(first);
    assertThat(closed).containsExactly("first");
    acquired.close();
    assertThat(closed).containsExactly("first", "second");
  }

  @Test
  void oneThatComesAfterTheCloseIsClosedAtOnce() {
    acquired.close();
    acquired.keep(() -> closed.add("late"));
    assertThat(closed).containsExactly("late");
  }

  @Test
  void oneThatFailsDoesNotKeepTheOthers() {
    acquired.keep(() -> closed.add("first"));
    acquired.keep(() -> {
      throw new IOException("busy");
    });
    acquired.keep(() -> {
      throw new NoClassDefFoundError("of a test");
    });
    acquired.close();
    assertThat(closed).containsExactly("first");
  }

  @Test
  void anInterruptIsRestoredWhenAllIsGivenBack() {
    acquired.keep(
        () -> closed.add("first, interrupted: " + Thread.currentThread().isInterrupted()));
    acquired.keep(() -> {
      throw new InterruptedException();
    });
    acquired.close();
    assertThat(closed).containsExactly("first, interrupted: false");
    assertThat(Thread.interrupted()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatAThreadMayStillBeInsideIsNotClosed(boolean isInterrupted) throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    AtomicBoolean destroyed = new AtomicBoolean();
    LoopThread thread = new LoopThread("stuck", () -> {
      inside.countDown();
      end.await();
    });
    Acquired acquired = new Acquired();
    acquired.keep(() -> destroyed.set(true));
    acquired.keep(thread::stop);
    thread.start(why -> {});
    inside.await();
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
    acquired.close();
    assertThat(Thread.interrupted()).isEqualTo(isInterrupted);
    assertThat(destroyed).isFalse();
    end.countDown();
    thread.stop();
    acquired.close();
    assertThat(destroyed).isFalse();
  }
}
