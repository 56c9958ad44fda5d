/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredBuffer;

/** A connection whose host never answers, held up and let go by the test; its own watchdog rests. */
@Timeout(60)
class WatchdogTest {
  private final Queue<Runnable> probes = new ArrayDeque<>();
  private final CountDownLatch release = new CountDownLatch(1);
  private RdmaTransport owner;
  private RdmaTransport reader;
  private RegisteredArena arena;
  private Connection connection;
  private Watchdog watchdog;

  @BeforeEach
  void open() throws Exception {
    owner = TestTransports.open("owner");
    reader = TestTransports.open("reader");
    arena = TestTransports.arena(owner);
    connection = reader
        .connections()
        .connect(TestTransports.peerOf("owner", owner), null, Deadline.afterMs(20_000));
    watchdog = new Watchdog(
        TestTransports.impatient(30_000, TcpProbe.TOTAL_MS),
        () -> 0,
        List.of(connection),
        asked -> false,
        probes::add);
  }

  @AfterEach
  void close() throws Exception {
    release.countDown();
    arena.close();
    reader.close();
    owner.close();
  }

  /** Posts two READs; the completion of the first holds up the second. */
  private AwaitedCompletion holdUp() throws Exception {
    ArenaSlice record = arena.allocate(64);
    List<Read> one = List.of(new Read(record.address(), record.rkey(), 64, 0));
    RegisteredBuffer sink = reader.buffers().acquire(64, Deadline.afterMs(5_000));
    AwaitedCompletion second = new AwaitedCompletion();
    connection.post(one, sink, new HeldUp(release), Deadline.afterMs(5_000));
    connection.post(one, sink, second, Deadline.afterMs(5_000));
    sink.release();
    return second;
  }

  private void lookUntilProbed() throws InterruptedException {
    Deadline deadline = Deadline.afterMs(20_000);
    while (probes.isEmpty() && !deadline.expired()) {
      watchdog.look();
      TimeUnit.MILLISECONDS.sleep(1);
    }
    assertThat(probes).hasSize(1);
  }

  @Test
  void aConnectionThatMovesAgainBeforeItsHostIsAskedIsNotLost() throws Exception {
    AwaitedCompletion second = holdUp();
    lookUntilProbed();
    release.countDown();
    assertThat(second.await(Deadline.afterMs(20_000))).isNull();

    probes.remove().run();

    assertThat(connection.isOpen()).isTrue();
  }

  @Test
  void aSilentConnectionOfASilentHostIsLost() throws Exception {
    AwaitedCompletion second = holdUp();
    lookUntilProbed();

    probes.remove().run();

    assertThat(connection.breakage())
        .isNotNull()
        .extracting(Breakage::kind)
        .isEqualTo(Breakage.Kind.PEER_UNREACHABLE);
    release.countDown();
    second.await(Deadline.afterMs(20_000)); // with success or failure, but in time
  }
}
