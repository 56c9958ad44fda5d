/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.FaultControl;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;

/** A process whose device has no memory for a larger completion queue when one more connection needs it. */
@Timeout(120)
@OnSoftDevice("faults are asked of it")
class QueueGrowthTest {
  private static final int FITTING = 8;

  @TempDir
  Path directory;

  @Test
  void aQueueThatCannotGrowCostsTheNewConnectionAlone() throws Exception {
    FaultControl control = new FaultControl(directory.resolve("faults"));
    try (Jvm jvm = Jvm.start(control.environment(), QueueGrowthTest.class)) {
      assertThat(jvm.awaitLine("refused: "))
          .isEqualTo("RESOURCES, reserved as before, open: 8, read: 8, then one more: true");
    }
  }

  public static void main(String[] arguments) throws Exception {
    List<RdmaTransport> owners = new ArrayList<>();
    for (int i = 0; i <= FITTING; i++) {
      owners.add(TestTransports.open("owner" + i, TestTransports.settings(0, 1 << 20)));
    }
    RdmaTransport reader = TestTransports.open("reader");
    List<Connection> connections = new ArrayList<>();
    for (int i = 0; i < FITTING; i++) {
      connections.add(connect(reader, owners, i));
    }
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
    reader.close();
    arenas.forEach(RegisteredArena::close);
    owners.forEach(RdmaTransport::close);
  }

  private static Connection connect(RdmaTransport reader, List<RdmaTransport> owners, int to)
      throws Exception {
    return reader
        .connections()
        .connect(
            TestTransports.peerOf("owner" + to, owners.get(to)), null, Deadline.afterMs(20_000));
  }
}
