/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;

/** Copies what it gets, releases it, and counts what should come once. */
public class CollectingListener implements FetchListener {
  private final CountDownLatch left;
  private final AtomicInteger calls = new AtomicInteger();
  public final Map<Long, byte[]> blocks = new ConcurrentHashMap<>();
  public final Map<Long, Long> streamed = new ConcurrentHashMap<>();
  public final Map<Long, TcpReason> failures = new ConcurrentHashMap<>();
  public final Map<Long, Throwable> causes = new ConcurrentHashMap<>();

  public CollectingListener(int blocks) {
    left = new CountDownLatch(blocks);
  }

  @Override
  public void onSuccess(long tag, RegisteredSlice block, Origin origin) {
    byte[] bytes = new byte[Math.toIntExact(block.lengthBytes())];
    block.nioBuffer().get(bytes);
    block.release();
    blocks.put(tag, bytes);
    count();
  }

  @Override
  public void onStreamed(long tag, long lengthBytes, Origin origin) {
    streamed.put(tag, lengthBytes);
    count();
  }

  @Override
  public void onFailure(long tag, TcpReason reason, Throwable cause) {
    failures.put(tag, reason);
    causes.put(tag, cause);
    count();
  }

  private void count() {
    calls.incrementAndGet();
    left.countDown();
  }

  public int calls() {
    return calls.get();
  }

  public CollectingListener await() throws InterruptedException {
    assertThat(left.await(4, TimeUnit.MINUTES)) // emulated guests are slow
        .as("all blocks are reported; so far %s and failed %s", blocks.keySet(), failures)
        .isTrue();
    return this;
  }
}
