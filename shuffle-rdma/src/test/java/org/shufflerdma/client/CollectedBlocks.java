/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;

/** Takes hold of blocks as Spark's iterator does, and gives each back when its bytes are taken. */
final class CollectedBlocks implements BlockFetchingListener {
  private final CountDownLatch left;
  private final Map<String, ManagedBuffer> arrived = new ConcurrentHashMap<>();
  private final Map<String, Throwable> failed = new ConcurrentHashMap<>();
  private volatile boolean refusing;
  private volatile boolean failing;

  CollectedBlocks(int blocks) {
    left = new CountDownLatch(blocks);
  }

  /** Takes hold of nothing from now on, like the iterator of an ended task. */
  void refuse() {
    refusing = true;
  }

  /** Has no memory left from now on when it has taken hold of a block. */
  void failWhenTaking() {
    failing = true;
  }

  @Override
  public void onBlockFetchSuccess(String blockId, ManagedBuffer buffer) {
    if (refusing) {
      return;
    }
    if (failing) {
      buffer.retain();
      throw new OutOfMemoryError("of a test");
    }
    assertThat(arrived.putIfAbsent(blockId, buffer.retain())).as(blockId).isNull();
    left.countDown();
  }

  @Override
  public void onBlockFetchFailure(String blockId, Throwable exception) {
    failed.put(blockId, exception);
    left.countDown();
  }

  CollectedBlocks await() throws InterruptedException {
    assertThat(left.await(60, TimeUnit.SECONDS))
        .as("arrived: %s", arrived.keySet())
        .isTrue();
    return this;
  }

  Map<String, Throwable> failed() {
    return failed;
  }

  ManagedBuffer bufferOf(String blockId) {
    return Objects.requireNonNull(arrived.get(blockId));
  }

  void forget(String blockId) {
    arrived.remove(blockId);
  }

  byte[] bytesOf(String blockId) throws Exception {
    try (InputStream in = bufferOf(blockId).createInputStream()) {
      return in.readAllBytes();
    }
  }

  void releaseAll() {
    arrived.values().forEach(ManagedBuffer::release);
    arrived.clear();
  }
}
