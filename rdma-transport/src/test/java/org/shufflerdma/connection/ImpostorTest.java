/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.CmEvent;
import org.shufflerdma.verbs.CmEventType;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.ConnectParameters;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.Mtu;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.QueuePair;
import org.shufflerdma.verbs.QueuePairCapabilities;
import org.shufflerdma.verbs.QueuePairLimits;
import org.shufflerdma.verbs.TestDevice;

/** Who listens where an executor is said to, and accepts everybody, but does not know the secret. */
@Timeout(60)
class ImpostorTest {
  private static final Nonce NONCE = new Nonce(11, 22);
  private static final Handshake.Reply CANARY = new Handshake.Reply(4096, 1, 0);

  private RdmaTransport client;
  private EventChannel channel;
  private ConnectionId listener;
  private PeerId peer;

  @BeforeEach
  void open() throws Exception {
    client = TestTransports.open("client");
    channel = EventChannel.open();
    listener = channel.createId();
    listener.bind(new InetSocketAddress(TestDevice.address(), 0));
    listener.listen(8);
    InetSocketAddress at = listener.localAddress();
    assertThat(at).isNotNull();
    peer = new PeerId(
        "owner", new RdmaEndpoint(at.getAddress().getHostAddress(), at.getPort(), NONCE));
  }

  @AfterEach
  void close() throws Exception {
    listener.close();
    channel.close();
    client.close();
  }

  private static Handshake handshake(String appId, byte[] secret) {
    return new Handshake(new LocalIdentity(appId, "owner", secret));
  }

  /** What the client says to an answer that follows from its request. */
  private PeerFailure failureOf(UnaryOperator<byte[]> answer) throws Exception {
    Thread impostor = new Thread(() -> {
      try {
        accept(answer);
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    });
    impostor.start();
    NoConnectionException refusal = TestTransports.refusal(client, peer, null);
    impostor.join();
    assertThat(client.stats().readsPosted.sum())
        .as("READs of the impostor's memory")
        .isZero();
    assertThat(client.outboundConnections()).isZero();
    return refusal.failure();
  }

  private void accept(UnaryOperator<byte[]> answer) throws Exception {
    CmEvent request = channel.poll(20_000);
    assertThat(request).isNotNull();
    assertThat(request.type()).isEqualTo(CmEventType.CONNECT_REQUEST);
    byte[] bytes = request.privateData();
    request.close();
    ConnectionId id = request.id();
    DeviceContext device = id.context();
    assertThat(device).isNotNull();
    try (id;
        ProtectionDomain domain = device.allocProtectionDomain();
        CompletionQueue queue = device.createCompletionQueue(4, null, 0);
        QueuePair pair =
            id.createQueuePair(domain, queue, queue, new QueuePairCapabilities(1, 1, 1, 1, 0))) {
      pair.toReady(new QueuePairLimits(Access.REMOTE_READ, Mtu.LARGEST_BYTES, 1, 1));
      id.accept(new ConnectParameters(answer.apply(bytes), 1, 0, 7, 7));
      CmEvent end = channel.poll(20_000);
      assertThat(end).as("the client's refusal").isNotNull();
      end.close();
    }
  }

  @Test
  void noAnswerButTheProvenOneIsTaken() throws Exception {
    assertThat(failureOf(request -> new byte[0])).isEqualTo(PeerFailure.VERSION);
    assertThat(failureOf(request -> java.util.Arrays.copyOf(request, 56)))
        .as("its own request")
        .isIn(PeerFailure.VERSION, PeerFailure.NONCE);
  }

  @Test
  void aProofByAnotherSecretOrApplicationIsRefused() throws Exception {
    byte[] guess = new byte[16];
    assertThat(failureOf(
            request -> handshake("app-test", guess).reply(request, "owner", NONCE, CANARY)))
        .isEqualTo(PeerFailure.SECRET);
    assertThat(failureOf(request ->
            handshake("app-other", TestTransports.SECRET).reply(request, "owner", NONCE, CANARY)))
        .isEqualTo(PeerFailure.SECRET);
  }

  @Test
  void theProofOfAnotherExecutorOrRunIsRefused() throws Exception {
    Handshake ours = handshake("app-test", TestTransports.SECRET);
    assertThat(failureOf(request -> ours.reply(request, "another", NONCE, CANARY)))
        .isEqualTo(PeerFailure.SECRET);
    assertThat(failureOf(request -> ours.reply(request, "owner", new Nonce(11, 23), CANARY)))
        .isEqualTo(PeerFailure.NONCE);
  }
}
