/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.FaultControl;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;

/** A process whose device has no memory for a larger completion queue when more connections need it. */
@Timeout(120)
@OnSoftDevice("faults are asked of it")
class QueueGrowthTest {
  private static final int FITTING = 8;
  private static final int FURTHER = 6;

  @TempDir
  Path directory;

  @Test
  void aQueueThatCannotGrowCostsTheNewConnectionAlone() throws Exception {
    FaultControl control = new FaultControl(directory.resolve("faults"));
    try (Jvm jvm = Jvm.start(control.environment(), QueueGrowthTest.class, "busy")) {
      assertThat(jvm.awaitLine("refused: "))
          .isEqualTo("RESOURCES, reserved as before, open: 8, read: 8, then one more: true");
    }
  }

  @Test
  void attemptsAtOnceThatFindNoRoomEachTakeThatOfAnIdleConnection() throws Exception {
    FaultControl control = new FaultControl(directory.resolve("faults"));
    try (Jvm jvm = Jvm.start(control.environment(), QueueGrowthTest.class, "idle")) {
      assertThat(jvm.awaitLine("ended: ")).isEqualTo(FURTHER + ", then connected: " + FURTHER);
    }
  }

  public static void main(String[] arguments) throws Exception {
    boolean busy = arguments[0].equals("busy");
    List<RdmaTransport> owners = new ArrayList<>();
    for (int i = 0; i < FITTING + (busy ? 1 : FURTHER); i++) {
      owners.add(TestTransports.open("owner" + i, TestTransports.settings(0, 1 << 20)));
    }
    RdmaTransport reader = TestTransports.open("reader");
    List<Connection> connections = new ArrayList<>();
    for (int i = 0; i < FITTING; i++) {
      connections.add(connect(reader, owners, i));
    }
    if (busy) {
      connectWhileAllAreInUse(reader, owners, connections);
    } else {
      Connection last = connections.get(FITTING - 1);
      // Else it keeps its place.
      Await.until(
          "the last connection is idle",
          20_000,
          () -> last.idleNs() >= TimeUnit.MILLISECONDS.toNanos(100));
      connectWhileAllAreIdle(reader, owners);
    }
    reader.close();
    owners.forEach(RdmaTransport::close);
  }

  /** No entry comes back before each attempt has failed, and ended a connection of its own. */
  private static void connectWhileAllAreIdle(RdmaTransport reader, List<RdmaTransport> owners)
      throws Exception {
    ConnectionPool pool = reader.connections();
    FaultControl.own().say("set resize_cq:errno=ENOMEM,count=all");
    List<PeerInterest> interests = new ArrayList<>();
    List<Connecting> attempts = new ArrayList<>();
    LongAdder ended = reader.stats().connectionsEvicted;
    AtomicLong endedAtFirst = new AtomicLong();
    Deadline deadline = Deadline.afterMs(15_000);
    PausedPoller.during(reader, () -> {
      for (int i = FITTING; i < owners.size(); i++) {
        PeerId peer = TestTransports.peerOf("owner" + i, owners.get(i));
        interests.add(pool.interestIn(peer, null));
        attempts.add(pool.begin(peer, null, deadline));
      }
      Await.atMost(deadline.remainingMs(), () -> ended.sum() >= FURTHER);
      endedAtFirst.set(ended.sum());
    });
    int connected = 0;
    for (Connecting attempt : attempts) {
      boolean isOver = attempt.await(Deadline.afterMs(60_000));
      Connection made = attempt.connection();
      connected += isOver && made != null && made.isOpen() ? 1 : 0;
    }
    System.out.println("ended: " + endedAtFirst + ", then connected: " + connected);
    interests.forEach(PeerInterest::close);
  }

  private static void connectWhileAllAreInUse(
      RdmaTransport reader, List<RdmaTransport> owners, List<Connection> connections)
      throws Exception {
    CompletionRoom room = reader.connections().room();
    int reserved = room.reserved();
    FaultControl.own().say("set resize_cq:errno=ENOMEM,count=all");
    List<AwaitedCompletion> reads = new ArrayList<>();
    List<RegisteredArena> arenas = new ArrayList<>();
    List<String> failures = new ArrayList<>();
    PausedPoller.during(
        reader,
        () -> { // so that none is idle, and makes room
          for (int i = 0; i < FITTING; i++) {
            RegisteredArena arena = TestTransports.arena(owners.get(i));
            arenas.add(arena);
            ArenaSlice record = arena.allocate(64);
            reads.add(TestTransports.post(reader, connections.get(i), record, 64, 5_000));
          }
          try {
            connect(reader, owners, FITTING);
          } catch (NoConnectionException e) {
            failures.add(e.failure().toString());
          }
        });
    String entries = room.reserved() == reserved ? "reserved as before" : "lost entries";
    int read = 0;
    for (AwaitedCompletion each : reads) {
      read += each.await(Deadline.afterMs(20_000)) == null ? 1 : 0;
    }
    long open = connections.stream().filter(Connection::isOpen).count();
    FaultControl.own().say("clear");
    boolean more = connect(reader, owners, FITTING).isOpen();
    System.out.println("refused: " + String.join(",", failures) + ", " + entries + ", open: " + open
        + ", read: " + read + ", then one more: " + more);
    arenas.forEach(RegisteredArena::close);
  }

  private static Connection connect(RdmaTransport reader, List<RdmaTransport> owners, int to)
      throws Exception {
    return TestTransports.connect(reader, TestTransports.peerOf("owner" + to, owners.get(to)));
  }
}
