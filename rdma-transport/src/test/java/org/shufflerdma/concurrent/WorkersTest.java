/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URL;
import java.net.URLClassLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WorkersTest {
  private final ThreadPoolExecutor pool = Workers.pool("of-a-test", 3);

  @AfterEach
  void shutDown() {
    pool.shutdownNow();
  }

  @Test
  void allThreadsAreThereBeforeTheFirstCommandAndStay() {
    assertThat(pool.getPoolSize()).isEqualTo(3);
    assertThat(pool.allowsCoreThreadTimeOut()).isFalse();
  }

  /** A session of Spark has a class loader of its own, which a thread must not keep. */
  @Test
  void aThreadDoesNotKeepTheClassLoaderOfWhoeverMadeIt() throws Exception {
    Thread maker = Thread.currentThread();
    ClassLoader before = maker.getContextClassLoader();
    try (URLClassLoader session = new URLClassLoader(new URL[0], before)) {
      maker.setContextClassLoader(session);
      assertThat(Workers.thread("of-a-test", () -> {}).getContextClassLoader())
          .isSameAs(Workers.class.getClassLoader());
    } finally {
      maker.setContextClassLoader(before);
    }
  }

  @Test
  void commandsThatThrowCostNoThread() throws Exception {
    for (int i = 0; i < 6; i++) {
      pool.execute(() -> {
        throw new OutOfMemoryError("of a test");
      });
    }
    CompletableFuture<String> name = new CompletableFuture<>();
    pool.execute(() -> name.complete(Thread.currentThread().getName()));
    assertThat(name.get(50, TimeUnit.SECONDS)).isIn("of-a-test-0", "of-a-test-1", "of-a-test-2");
  }
}
