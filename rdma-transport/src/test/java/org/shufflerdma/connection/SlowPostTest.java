/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;

/** A reader, in a process of its own, whose device takes seconds to post a long READ. */
@Timeout(60)
@OnSoftDevice("faults are asked of it")
class SlowPostTest {
  private static final int LONG_BYTES = 2 * Canary.SIZE_BYTES;
  private static final int DRAIN_MS = 200;

  @Test
  void nobodyWaitsBeyondADeadlineForThePostOfAnother() throws Exception {
    Map<String, String> environment = Map.of(
        "SOFTVERBS_PATH", "cma", "SOFTVERBS_FAULT", "cma:delay=8000,min_length=" + LONG_BYTES);
    try (Jvm jvm = Jvm.start(environment, SlowPostTest.class)) {
      assertThat(jvm.awaitLine("another post timed out: ")).isEqualTo("true");
      assertThat(jvm.awaitLine("the end was bounded: ")).isEqualTo("true");
    }
  }

  public static void main(String[] arguments) throws Exception {
    TransportSettings settings = TestTransports.with(
        TestTransports.settings(0, 1 << 20), Map.of("drainTimeoutMs", DRAIN_MS));
    RdmaTransport owner = TestTransports.open("owner");
    RdmaTransport reader = TestTransports.open("reader", settings);
    Connection connection = TestTransports.connect(reader, TestTransports.peerOf("owner", owner));
    RegisteredArena arena = TestTransports.arena(owner);
    ArenaSlice record = arena.allocate(LONG_BYTES);
    FutureTask<Void> slow = new FutureTask<>(() -> {
      TestTransports.post(reader, connection, record, LONG_BYTES, 20_000);
      return null;
    });
    new Thread(slow).start();
    Await.until("a list is under way", 20_000, () -> connection.outstandingLists() > 0);
    boolean timedOut = false;
    try {
      TestTransports.post(reader, connection, record, 64, 100);
    } catch (TimeoutException e) {
      timedOut = !slow.isDone();
    }
    System.out.println("another post timed out: " + timedOut);
    connection.breakWith(PeerFailure.NO_PROGRESS, "of a test");
    Await.until(
        "the post has ended",
        20_000,
        () -> reader.stats().queuePairsNotDestroyed.sum() > 0 || slow.isDone());
    System.out.println("the end was bounded: " + !slow.isDone());
    System.out.flush();
    Runtime.getRuntime().halt(0); // the queue pair stays
  }
}
