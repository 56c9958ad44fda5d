/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;

/** A reader, in a process of its own, whose device loses the completion of the longest READ. */
@Timeout(60)
@OnSoftDevice("faults are asked of it")
class LostCompletionTest {
  private static final int LOST_BYTES = 2 * Canary.SIZE_BYTES;
  private static final int WAIT_MS = 20_000;
  private static final int NEVER_MS = 3_600_000;

  @Test
  void aLaterCompletionShowsThatOneIsLost() throws Exception {
    Map<String, String> environment =
        Map.of("SOFTVERBS_FAULT", "completion:drop,min_length=" + LOST_BYTES);
    try (Jvm jvm = Jvm.start(environment, LostCompletionTest.class)) {
      assertThat(jvm.awaitLine("the later one: ")).isEqualTo("null");
      assertThat(jvm.awaitLine("the lost one: ")).isEqualTo("COMPLETION_LOST");
      assertThat(jvm.awaitLine("on a new connection: ")).isEqualTo("null");
    }
  }

  public static void main(String[] arguments) throws Exception {
    TransportSettings settings = TestTransports.with(
        TestTransports.settings(0, 1 << 20),
        Map.of("progressTimeoutMs", NEVER_MS, "drainTimeoutMs", NEVER_MS));
    RdmaTransport owner = TestTransports.open("owner");
    RdmaTransport reader = TestTransports.open("reader", settings);
    RegisteredArena arena = TestTransports.arena(owner);
    ArenaSlice record = arena.allocate(LOST_BYTES);
    Connection connection = connect(reader, owner);
    AwaitedCompletion lost = TestTransports.post(reader, connection, record, LOST_BYTES, WAIT_MS);
    AwaitedCompletion later = TestTransports.post(reader, connection, record, 64, WAIT_MS);
    System.out.println("the later one: " + later.await(Deadline.afterMs(WAIT_MS)));
    ReadFailure failure = lost.await(Deadline.afterMs(WAIT_MS));
    System.out.println(
        "the lost one: " + (failure == null ? null : failure.breakage().failure()));
    AwaitedCompletion again =
        TestTransports.post(reader, connect(reader, owner), record, LOST_BYTES, WAIT_MS);
    System.out.println("on a new connection: " + again.await(Deadline.afterMs(WAIT_MS)));
    arena.close();
    reader.close();
    owner.close();
  }

  private static Connection connect(RdmaTransport reader, RdmaTransport owner) throws Exception {
    return reader
        .connections()
        .connect(TestTransports.peerOf("owner", owner), null, Deadline.afterMs(WAIT_MS));
  }
}
