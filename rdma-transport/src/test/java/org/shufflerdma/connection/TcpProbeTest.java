/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TcpProbeTest {
  @Test
  void anOpenPortAnswers() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      assertThat(TcpProbe.isAnswered((InetSocketAddress) server.getLocalSocketAddress()))
          .isTrue();
    }
  }

  @Test
  void aNameIsResolvedFirst() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      InetSocketAddress named =
          InetSocketAddress.createUnresolved("127.0.0.1", server.getLocalPort());
      assertThat(TcpProbe.isAnswered(TcpProbe.resolve(named))).isTrue();
    }
  }

  @Test
  void aRefusalIsAnAnswer() throws Exception {
    InetSocketAddress closed;
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      closed = (InetSocketAddress) server.getLocalSocketAddress();
    }
    assertThat(TcpProbe.isAnswered(closed)).isTrue();
  }

  @Test
  void silenceIsNone() throws Exception {
    try (SilentPort port = SilentPort.open()) {
      assertThat(TcpProbe.isAnswered(port.address())).isFalse();
    }
  }

  @Test
  void aConnectThatTheKernelGivesUpIsSilenceAndARefusalIsNot() {
    assertThat(TcpProbe.isSilence(new ConnectException("Connection timed out"))).isTrue();
    assertThat(TcpProbe.isSilence(new ConnectException("Connection refused"))).isFalse();
    assertThat(TcpProbe.isSilence(new SocketException("Network is unreachable")))
        .isFalse();
  }

  @Test
  void aHostWithoutAddressIsNotHeldToBeSilent() {
    InetSocketAddress named = InetSocketAddress.createUnresolved("nowhere.invalid", 1);
    assertThat(TcpProbe.isAnswered(TcpProbe.resolve(named))).isTrue();
  }

  /** No connect leaves for a group's address: the kernel refuses it here. */
  @Test
  void whatThisSideRefusesIsNotThePeersSilence() {
    assertThat(TcpProbe.isAnswered(new InetSocketAddress("224.0.0.1", 1))).isTrue();
  }
}
