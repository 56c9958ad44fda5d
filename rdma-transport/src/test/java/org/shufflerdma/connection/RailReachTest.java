/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shufflerdma.memory.PoolSettings;
import org.shufflerdma.metrics.TcpReason;

class RailReachTest {
  private static RailReach reach(boolean severalRails) {
    return RailReach.of(TestTransports.with(
        TestTransports.defaults(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            PoolSettings.ofBudget(1 << 20)),
        Map.of("usesOneOfSeveralRails", severalRails)));
  }

  private static PeerId peer(String host) {
    return new PeerId("1", new RdmaEndpoint(host, 1, new Nonce(1, 2)));
  }

  /** The loopback interface's network is 127.0.0.0/8. */
  @ParameterizedTest
  @CsvSource({
    "ADDRESS,127.0.0.7,ADDRESS,ADDRESS",
    "ADDRESS,192.0.2.1,RAIL,ADDRESS",
    "TIMEOUT,127.0.0.7,TIMEOUT,TIMEOUT",
    "TIMEOUT,192.0.2.1,RAIL,TIMEOUT",
    "NO_WAY_BACK,127.0.0.7,NO_WAY_BACK,NO_WAY_BACK",
    "NO_WAY_BACK,192.0.2.1,RAIL,NO_WAY_BACK",
    "REFUSED,192.0.2.1,REFUSED,REFUSED",
    "RESOURCES,192.0.2.1,RESOURCES,RESOURCES",
    "PEER_UNREACHABLE,192.0.2.1,PEER_UNREACHABLE,PEER_UNREACHABLE"
  })
  void whatNoWayLeadsToIsOnARailThatThisOneDoesNotReach(
      PeerFailure failure, String host, PeerFailure withRails, PeerFailure without) {
    PeerId peer = peer(host);
    NoConnectionException why = new NoConnectionException(peer, failure, "what happened");
    NoConnectionException judged = reach(true).judge(peer, why);
    assertThat(judged.failure()).isEqualTo(withRails);
    assertThat(judged).hasMessageContaining("what happened");
    assertThat(reach(false).judge(peer, why).failure()).isEqualTo(without);
  }

  @ParameterizedTest
  @CsvSource("rail,shuffle.rdma.fallback.rail")
  void itHasAReasonOfItsOwn(String label, String metric) {
    assertThat(PeerFailure.RAIL.tcpReason()).isEqualTo(TcpReason.RAIL);
    assertThat(TcpReason.RAIL.label()).isEqualTo(label);
    assertThat(TcpReason.RAIL.publicName()).isEqualTo(metric);
  }
}
