/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.PoolSettings;
import org.shufflerdma.verbs.TestDevice;

/** Executors whose addresses are IPv6: what they publish, and READs over it. */
@Timeout(60)
class Ipv6Test {
  private static RdmaTransport open(String executorId) throws Exception {
    TransportSettings settings = TestTransports.withConnectTimeout(
        TestTransports.defaults(
            new InetSocketAddress(TestDevice.address6(), 0), PoolSettings.ofBudget(1 << 20)),
        20_000);
    return TestTransports.open(executorId, settings);
  }

  @Test
  void blocksAreReadFromTheAddressThatIsPublished() throws Exception {
    try (RdmaTransport owner = open("owner");
        RdmaTransport reader = open("reader")) {
      RdmaEndpoint endpoint = owner.endpoint();
      assertThat(InetAddress.getByName(endpoint.host())).isEqualTo(TestDevice.address6());
      assertThat(endpoint.toString()).startsWith("[" + endpoint.host() + "]:" + endpoint.port());
      PeerId peer = TestTransports.peerOf("owner", owner);
      Connection connection = reader.connections().connect(peer, null, Deadline.afterMs(20_000));
      TestTransports.assertReads(connection, owner, reader, 1);
    }
  }
}
