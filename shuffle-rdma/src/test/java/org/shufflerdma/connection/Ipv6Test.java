/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.PoolSettings;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.verbs.TestDevice;

/** Executors whose addresses are IPv6: what they publish, and READs over it. */
@Timeout(60)
class Ipv6Test {
  private static RdmaTransport open(String executorId) throws Exception {
    TransportSettings settings = TestTransports.withConnectTimeout(
        TransportSettings.defaults(
            new InetSocketAddress(TestDevice.address6(), 0), PoolSettings.ofBudget(1 << 20)),
        20_000);
    return TestTransports.open(executorId, settings);
  }

  @Test
  void blocksAreReadFromTheAddressThatIsPublished() throws Exception {
    try (RdmaTransport owner = open("owner");
        RdmaTransport reader = open("reader");
        RegisteredArena arena = new RegisteredArena(owner.protectionDomain())) {
      RdmaEndpoint endpoint = owner.endpoint();
      assertThat(InetAddress.getByName(endpoint.host())).isEqualTo(TestDevice.address6());
      assertThat(endpoint.toString()).startsWith("[" + endpoint.host() + "]:" + endpoint.port());
      ArenaSlice record = arena.allocate(64);
      record.buffer().putLong(0, 4711);
      PeerId peer = TestTransports.peerOf("owner", owner);
      Connection connection = reader.connections().connect(peer, null, Deadline.afterMs(20_000));
      RegisteredBuffer sink = reader.buffers().acquire(64, Deadline.afterMs(0));
      AwaitedCompletion completion = new AwaitedCompletion();
      connection.post(
          List.of(new Read(record.address(), record.rkey(), 64, 0)),
          sink,
          completion,
          Deadline.afterMs(5_000));
      assertThat(completion.await(Deadline.afterMs(20_000))).isNull();
      assertThat(sink.nioBuffer(0, 8).getLong()).isEqualTo(4711);
      sink.release();
    }
  }
}
