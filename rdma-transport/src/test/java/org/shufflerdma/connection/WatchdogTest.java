/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.PoolSettings;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredBuffer;

/** Connections whose hosts never answer, held up and let go by the test. */
@Timeout(60)
class WatchdogTest {
  /** A quarter of the buffers that the watchdog knows of has room for eight of them. */
  private static final int ZOMBIE_BYTES = 100_000;

  private static final long BUFFER_BYTES = 4 << 20;

  private final Queue<Runnable> probes = new ArrayDeque<>();
  private @Nullable PausedPoller paused;
  private RdmaTransport owner;
  private RdmaTransport reader;
  private RegisteredArena arena;
  private RegisteredArena otherArena;
  private RdmaTransport otherOwner;
  private Connection connection;
  private Connection other;
  private Watchdog watchdog;

  @BeforeEach
  void open() throws Exception {
    owner = TestTransports.open("owner");
    otherOwner = TestTransports.open("other");
    reader = TestTransports.open("reader");
    arena = TestTransports.arena(owner);
    otherArena = TestTransports.arena(otherOwner);
    connection = connect("owner", owner);
    other = connect("other", otherOwner);
    watchdog = new Watchdog(settings(), List.of(connection, other), asked -> false, probes::add);
  }

  @AfterEach
  void close() throws Exception {
    resume();
    arena.close();
    otherArena.close();
    reader.close();
    otherOwner.close();
    owner.close();
  }

  private static TransportSettings settings() {
    return TestTransports.with(
        TestTransports.impatient(30_000, TcpProbe.TOTAL_MS),
        Map.of("pool", PoolSettings.ofBudget(BUFFER_BYTES)));
  }

  private Connection connect(String executorId, RdmaTransport to) throws Exception {
    PeerId peer = TestTransports.peerOf(executorId, to);
    return TestTransports.connect(reader, peer);
  }

  private void resume() {
    if (paused != null) {
      paused.close();
    }
  }

  /** Posts a READ whose completion is not taken. */
  private AwaitedCompletion holdUp() throws Exception {
    paused = new PausedPoller(reader);
    return TestTransports.post(reader, connection, arena.allocate(64), 64, 5_000);
  }

  private void lookUntilProbed() throws Exception {
    Await.atMost(20_000, () -> {
      watchdog.look();
      return !probes.isEmpty();
    });
    assertThat(probes).hasSize(1);
  }

  /** Posts so many READs whose buffers nobody else holds. */
  private void abandon(Connection to, RegisteredArena remote, int reads) throws Exception {
    ArenaSlice record = remote.allocate(ZOMBIE_BYTES);
    for (int i = 0; i < reads; i++) {
      TestTransports.post(reader, to, record, ZOMBIE_BYTES, 5_000);
    }
  }

  /** The buffers of both together are too many, those of one are not. */
  @Test
  void whileTheBuffersOfAConnectionGivenUpComeBackNoOtherIsGivenUp() throws Exception {
    holdUp();
    abandon(connection, arena, 6);
    abandon(other, otherArena, 5);
    watchdog.look();
    assertThat(connection.isOpen()).isTrue();
    watchdog.look();
    TestTransports.assertBroken(connection, PeerFailure.ABANDONED);
    watchdog.look();
    watchdog.look();
    assertThat(other.isOpen()).isTrue();
  }

  @Test
  void aBufferIntoWhichSeveralListsReadCountsOnce() throws Exception {
    paused = new PausedPoller(reader);
    ArenaSlice record = arena.allocate(ZOMBIE_BYTES);
    RegisteredBuffer sink = reader.buffers().acquire(ZOMBIE_BYTES, Deadline.afterMs(0));
    long bytes = sink.capacityBytes();
    List<Read> part = List.of(new Read(record.address(), record.rkey(), 64, 0));
    for (int i = 0; i < 3; i++) {
      connection.post(part, sink, new AwaitedCompletion(), Deadline.afterMs(5_000));
    }
    sink.release();
    assertThat(connection.zombieBytes()).isEqualTo(bytes);
  }

  @Test
  void withSeveralRailsASilentConnectionIsGivenUpWhenItsPeerMightBeLost() throws Exception {
    holdUp();
    Watchdog ofRails = new Watchdog(
        TestTransports.with(settings(), Map.of("usesOneOfSeveralRails", true)),
        List.of(connection),
        asked -> true,
        Runnable::run);
    Await.atMost(20_000, () -> {
      ofRails.look();
      return !connection.isOpen();
    });
    TestTransports.assertBroken(connection, PeerFailure.NO_PROGRESS);
  }

  @Test
  void aConnectionThatMovesAgainBeforeItsHostIsAskedIsNotLost() throws Exception {
    AwaitedCompletion read = holdUp();
    lookUntilProbed();
    resume();
    assertThat(read.await(Deadline.afterMs(20_000))).isNull();

    probes.remove().run();

    assertThat(connection.isOpen()).isTrue();
  }

  @Test
  void aSilentConnectionOfASilentHostIsLost() throws Exception {
    AwaitedCompletion read = holdUp();
    lookUntilProbed();

    probes.remove().run();

    TestTransports.assertBroken(connection, PeerFailure.PEER_UNREACHABLE);
    resume();
    read.await(Deadline.afterMs(20_000)); // with success or failure, but in time
  }
}
