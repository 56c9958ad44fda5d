/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Handshake.RejectReason;
import org.shufflerdma.verbs.CmEvent;
import org.shufflerdma.verbs.CmEventType;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.ConnectParameters;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.QueuePair;
import org.shufflerdma.verbs.QueuePairCapabilities;

/** What a listener says to those who speak rdma_cm but not our handshake. */
@Timeout(60)
class IntruderTest {
  private static final byte[] NONCE =
      "twelve bytes".getBytes(java.nio.charset.StandardCharsets.UTF_8);

  private RdmaTransport owner;
  private PeerId peer;
  private Handshake handshake;

  @BeforeEach
  void open() throws Exception {
    owner = TestTransports.open("owner");
    peer = TestTransports.peerOf("owner", owner);
    handshake = new Handshake(new LocalIdentity("app-test", "x", TestTransports.SECRET));
  }

  @AfterEach
  void close() {
    owner.close();
  }

  /** The reason why a connect with this private data is rejected; null if it is accepted. */
  private @Nullable RejectReason connect(byte[] privateData) throws Exception {
    try (EventChannel channel = EventChannel.open();
        ConnectionId id = channel.createId()) {
      id.resolveAddress(
          null, new InetSocketAddress(peer.endpoint().host(), peer.endpoint().port()), 5_000);
      expect(channel, CmEventType.ADDR_RESOLVED);
      id.resolveRoute(5_000);
      expect(channel, CmEventType.ROUTE_RESOLVED);
      DeviceContext device = id.context();
      assertThat(device).isNotNull();
      QueuePairCapabilities capabilities = new QueuePairCapabilities(1, 1, 1, 1, 0);
      try (ProtectionDomain domain = device.allocProtectionDomain();
          CompletionQueue queue = device.createCompletionQueue(4, null, 0);
          QueuePair pair = id.createQueuePair(domain, queue, queue, capabilities)) {
        assertThat(pair.number()).isNotZero();
        id.connect(new ConnectParameters(privateData, 0, 1, 7, 7));
        CmEvent answer = next(channel);
        assertThat(answer.type()).isIn(CmEventType.REJECTED, CmEventType.CONNECT_RESPONSE);
        return answer.type() == CmEventType.CONNECT_RESPONSE
            ? null
            : Handshake.readRejection(answer.privateData()).reason();
      }
    }
  }

  private static CmEvent next(EventChannel channel) throws Exception {
    Deadline deadline = Deadline.afterMs(20_000);
    while (!deadline.expired()) {
      try (CmEvent event = channel.poll(100)) {
        if (event != null) {
          return event;
        }
      }
    }
    throw new AssertionError("no event came");
  }

  private static void expect(EventChannel channel, CmEventType type) throws Exception {
    assertThat(next(channel).type()).isEqualTo(type);
  }

  @Test
  void aRepeatedRequestIsRejected() throws Exception {
    byte[] request = handshake.request(NONCE, peer);
    assertThat(connect(request)).isNull();
    assertThat(connect(request)).isEqualTo(RejectReason.REPLAY);
  }

  @Test
  void aRequestWithoutTheSecretIsRejected() throws Exception {
    byte[] guess = new byte[32];
    Handshake wrong = new Handshake(new LocalIdentity("app-test", "x", guess));
    assertThat(connect(wrong.request(NONCE, peer))).isEqualTo(RejectReason.SECRET);
  }

  @Test
  void foreignBytesAreRejectedAndTheListenerGoesOn() throws Exception {
    Random random = new Random(20261120);
    for (int length : new int[] {0, 1, 20, 55, 56}) {
      byte[] bytes = new byte[length];
      random.nextBytes(bytes);
      assertThat(connect(bytes)).isNotNull();
    }
    assertThat(owner.stats().connectionsRejected.sum()).isEqualTo(5);
    assertThat(connect(handshake.request(NONCE, peer))).isNull();
  }
}
