/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.AwaitedCompletion;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.PausedPoller;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.PeerReadTime;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.LatencyHistogram;
import org.shufflerdma.metrics.TaskTime;
import org.shufflerdma.metrics.TaskTimes;

/** What readers wait for is timed under its name. No test sets an upper bound to a time. */
@Timeout(60)
class LostTimeTest extends FetcherScene {
  private static final DirectFetch.Limits WIDE = new DirectFetch.Limits(48 << 20, 100, 10_000);
  private static final int LONG_BLOCK_BYTES = 100_000;
  private static final int WAIT_MS = 20_000;
  private static final int HELD_MS = 100;
  private static final long HELD_NS = TimeUnit.MILLISECONDS.toNanos(HELD_MS);

  private TaskTimes read(PeerId from, List<BlockRequest> blocks) throws InterruptedException {
    PeerBlocks reads = new PeerBlocks(from, null);
    blocks.forEach(
        block -> reads.add(block.descriptor(), block.startPartition(), block.endPartition()));
    try (DirectFetch fetch = fetcher.direct(List.of(reads), WIDE, () -> {})) {
      boolean more = true;
      while (more) {
        more = fetch.next();
      }
      return fetch.times();
    }
  }

  /** Runs the body in a thread, and gives way after the thread has been waiting for so long. */
  private static <T> T whileHeld(Callable<T> body, AutoCloseable held) throws Exception {
    FutureTask<T> task = new FutureTask<>(body);
    Thread thread = new Thread(task);
    thread.start();
    Await.until("the thread waits", WAIT_MS, () -> thread.getState() == Thread.State.TIMED_WAITING);
    TimeUnit.MILLISECONDS.sleep(HELD_MS);
    held.close();
    return task.get(WAIT_MS, TimeUnit.MILLISECONDS);
  }

  @Test
  void everyListOfReadsIsTimedByItsLengthAndByItsPeer() throws Exception {
    read(peer, oneBlockOfEach(3, LONG_BLOCK_BYTES));
    assertThat(reader.stats().mediumReadTimes.count()).isEqualTo(1);
    assertThat(reader.stats().longReadTimes.count()).isZero();
    assertThat(reader.stats().shortReadTimes.count())
        .as("canary and descriptors")
        .isEqualTo(2);
    PeerReadTime ofPeer = reader.connections().readTimes().get(0);
    assertThat(ofPeer.peer()).isEqualTo(peer);
    assertThat(ofPeer.lists()).isEqualTo(1);
    assertThat(ofPeer.meanNs()).isEqualTo(reader.stats().mediumReadTimes.totalNs());
    assertThat(reader.stats().connectTimes.count()).isEqualTo(1);
    // By the worker that made the connection, a little later.
    Await.atMost(10_000, () -> reader.stats().connectionWaits.count() > 0);
    assertThat(reader.stats().connectionWaits.count()).isEqualTo(1);
  }

  @Test
  void theChecksumOfEachLongBlockIsTimed() throws Exception {
    TaskTimes times = read(peer, oneBlockOfEach(5, LONG_BLOCK_BYTES));
    LatencyHistogram checksums = fetcher.stats().checksumTimes;
    assertThat(checksums.count()).isEqualTo(5);
    assertThat(times.ns(TaskTime.CHECKSUM)).isEqualTo(checksums.totalNs()).isPositive();
  }

  @Test
  void aWaitForABufferIsTimed() throws Exception {
    closeReader();
    openReader(1 << 20);
    List<BlockRequest> blocks = oneBlockOfEach(1, LONG_BLOCK_BYTES);
    read(peer, blocks); // the descriptor is known from now on
    long idle = reader.buffers().waits().count();
    List<RegisteredBuffer> all = new ArrayList<>();
    for (RegisteredBuffer one = lease(); one != null; one = lease()) {
      all.add(one);
    }
    TaskTimes times =
        whileHeld(() -> read(peer, blocks), () -> all.forEach(RegisteredBuffer::release));
    assertThat(reader.buffers().waits().count()).isEqualTo(idle + 1);
    assertThat(reader.buffers().waits().maxNs()).isGreaterThanOrEqualTo(HELD_NS);
    assertThat(times.ns(TaskTime.POOL)).isGreaterThanOrEqualTo(HELD_NS);
  }

  private @Nullable RegisteredBuffer lease() throws Exception {
    return reader.buffers().tryAcquire(LONG_BLOCK_BYTES);
  }

  @Test
  void aWaitForRoomInTheSendQueueIsTimedAndToldToWhoPosts() throws Exception {
    ArenaSlice record = arena.allocate(64);
    Connection connection = reader.connections().connect(peer, null, Deadline.afterMs(WAIT_MS));
    RegisteredBuffer sink = reader.buffers().acquire(64, Deadline.afterMs(0));
    List<Read> one = List.of(new Read(record.address(), record.rkey(), 64, 0));
    try (PausedPoller paused = PausedPoller.of(reader)) {
      for (int i = 0; i < reader.settings().sendQueueDepth(); i++) {
        long waitedNs =
            connection.post(one, sink, new AwaitedCompletion(), Deadline.afterMs(WAIT_MS));
        assertThat(waitedNs).isZero();
      }
      assertThat(reader.stats().sendQueueWaits.count()).isZero();
      AwaitedCompletion last = new AwaitedCompletion();
      long waitedNs =
          whileHeld(() -> connection.post(one, sink, last, Deadline.afterMs(WAIT_MS)), paused);
      assertThat(waitedNs)
          .isGreaterThanOrEqualTo(HELD_NS)
          .isEqualTo(reader.stats().sendQueueWaits.totalNs());
      assertThat(last.await(Deadline.afterMs(WAIT_MS))).isNull();
    }
    sink.release();
    TestTransports.awaitNoLeases(reader);
  }

  /** Each block has lost the time of the attempts; the task has lost it once. */
  @Test
  void theTimeOfBlocksThatAreLeftIsThatSinceTheFirstAttempt() throws Exception {
    int connectMs = 300;
    closeReader();
    openReader(TestTransports.with(
        TestTransports.settings(0, 64 << 20), Map.of("connectTimeoutMs", connectMs)));
    List<BlockRequest> blocks = oneBlockOfEach(4, 1_000);
    withSilentPeer(silent -> {
      TaskTimes times = read(silent, blocks);
      LatencyHistogram fallbacks = fetcher.stats().fallbackTimes;
      assertThat(fallbacks.count()).isEqualTo(4);
      assertThat(fallbacks.totalNs())
          .isGreaterThanOrEqualTo(4 * TimeUnit.MILLISECONDS.toNanos(connectMs));
      assertThat(times.ns(TaskTime.FALLBACK)).isEqualTo(fallbacks.maxNs());
      assertThat(times.ns(TaskTime.CONNECTION)).isPositive();
    });
  }

  @Test
  void blocksThatComeHaveNoTimeOfFallback() throws Exception {
    TaskTimes times = read(peer, oneBlockOfEach(3, 1_000));
    assertThat(fetcher.stats().fallbackTimes.count()).isZero();
    assertThat(times.ns(TaskTime.FALLBACK)).isZero();
  }
}
