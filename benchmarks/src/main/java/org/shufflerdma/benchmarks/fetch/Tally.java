/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Counts the blocks of one pass over a set, and bounds how many are under way. Any thread may call. */
final class Tally {
  private static final int REQUESTS = 4;
  private static final long LIMIT_S = 60;

  private final BlockSet set;
  private final Semaphore room;
  private final AtomicLong numbers = new AtomicLong();
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

  Tally(BlockSet set) {
    this.set = set;
    this.room = new Semaphore(REQUESTS * set.maps());
  }

  void add(ByteBuffer block) {
    numbers.addAndGet(block.getLong(block.position()));
    bytes.addAndGet(block.remaining());
    room.release();
  }

  void fail(Throwable cause) {
    failure.compareAndSet(null, cause);
    room.release();
  }

  /** Waits until one more request may be made. */
  void awaitRoom() throws IOException, InterruptedException {
    await(set.maps());
  }

  private void await(int blocks) throws IOException, InterruptedException {
    if (!room.tryAcquire(blocks, LIMIT_S, TimeUnit.SECONDS)) {
      throw new IOException("the blocks did not come within " + LIMIT_S + " s");
    }
    @Nullable Throwable cause = failure.get();
    if (cause != null) {
      throw new IOException("a block was not delivered", cause);
    }
  }

  /** Waits for the last block. Returns the sum of the numbers of the blocks. */
  long awaitAll() throws IOException, InterruptedException {
    await(REQUESTS * set.maps());
    if (bytes.get() != (long) set.blocks() * set.blockBytes()) {
      throw new IOException(bytes + " bytes came of " + set);
    }
    return numbers.get();
  }
}
