/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.CmEvent;
import org.shufflerdma.verbs.CmEventType;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.ConnectParameters;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.Mtu;
import org.shufflerdma.verbs.NativeMemory;
import org.shufflerdma.verbs.OtherRequest;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.QueuePair;
import org.shufflerdma.verbs.QueuePairCapabilities;
import org.shufflerdma.verbs.QueuePairLimits;
import org.shufflerdma.verbs.WcStatus;
import org.shufflerdma.verbs.WideRegion;

/** What a listener says to those who speak rdma_cm but not our handshake. */
@Timeout(60)
class IntruderTest {
  private static final byte[] NONCE =
      "twelve bytes".getBytes(java.nio.charset.StandardCharsets.UTF_8);

  private static final int FLOOD = 100;

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

  /** What a test does with the answer to its request. */
  private interface Conversation<T> {
    T on(
        CmEvent answer,
        ConnectionId id,
        QueuePair pair,
        ProtectionDomain domain,
        CompletionQueue queue)
        throws Exception;
  }

  /** Connects with this private data, as far as the answer. */
  private <T> T connect(byte[] privateData, Conversation<T> conversation) throws Exception {
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
        return conversation.on(answer, id, pair, domain, queue);
      }
    }
  }

  /** The reason why a connect with this private data is rejected; null if it is accepted. */
  private @Nullable PeerFailure connect(byte[] privateData) throws Exception {
    CmEvent answer = connect(privateData, (event, id, pair, domain, queue) -> event);
    return answer.type() == CmEventType.CONNECT_RESPONSE
        ? null
        : Handshake.readRejection(answer.privateData()).reason();
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
    assertThat(connect(request)).isEqualTo(PeerFailure.REPLAY);
  }

  @Test
  void aRequestWithoutTheSecretIsRejected() throws Exception {
    byte[] guess = new byte[32];
    Handshake wrong = new Handshake(new LocalIdentity("app-test", "x", guess));
    assertThat(connect(wrong.request(NONCE, peer))).isEqualTo(PeerFailure.SECRET);
  }

  @Test
  void aRequestOfAnotherApplicationWithTheSameSecretIsRejected() throws Exception {
    Handshake other = new Handshake(new LocalIdentity("app-other", "x", TestTransports.SECRET));
    assertThat(connect(other.request(NONCE, peer))).isEqualTo(PeerFailure.SECRET);
  }

  /** What the owner would say itself, sent back to it. */
  @Test
  void theOwnersProofCannotServeAsARequest() throws Exception {
    byte[] request = handshake.request(NONCE, peer);
    byte[] proof = handshake.reply(
        request, "owner", peer.endpoint().bootNonce(), new Handshake.Reply(4096, 1, 0));
    assertThat(connect(Arrays.copyOf(proof, Handshake.REQUEST_BYTES))).isNotNull();
    byte[] patched = Arrays.copyOf(proof, Handshake.REQUEST_BYTES);
    System.arraycopy(request, 0, patched, 0, 24);
    assertThat(connect(patched)).isEqualTo(PeerFailure.SECRET);
  }

  @Test
  void aFloodOfForeignRequestsKeepsNobodyOutAndFillsNoLog() throws Exception {
    AtomicInteger lines = new AtomicInteger();
    AbstractAppender appender =
        new AbstractAppender("rejections", null, null, true, Property.EMPTY_ARRAY) {
          @Override
          public void append(LogEvent event) {
            lines.incrementAndGet();
          }
        };
    appender.start();
    Logger log = (Logger) LogManager.getLogger(InboundListener.class);
    log.addAppender(appender);
    log.setLevel(Level.INFO);
    try (RdmaTransport client = TestTransports.open("client")) {
      for (int i = 0; i < FLOOD; i++) {
        assertThat(connect(new byte[Handshake.REQUEST_BYTES])).isNotNull();
        if (i == FLOOD / 2) {
          assertThat(TestTransports.connect(client, peer).isOpen()).isTrue();
        }
      }
      assertThat(owner.stats().connectionsRejected.sum()).isEqualTo(FLOOD);
      assertThat(lines).hasValueLessThanOrEqualTo(3);
    } finally {
      log.removeAppender(appender);
    }
  }

  @Test
  void whoProvesHimselfAndThenStaysSilentIsGivenUp() throws Exception {
    owner.close();
    owner = TestTransports.open(
        "owner",
        TestTransports.with(
            TestTransports.settings(0, 1 << 20),
            Map.of("connectTimeoutMs", 1_000, "progressTimeoutMs", 1_000)));
    peer = TestTransports.peerOf("owner", owner);
    connect(handshake.request(NONCE, peer), (answer, id, pair, domain, queue) -> {
      assertThat(answer.type()).isEqualTo(CmEventType.CONNECT_RESPONSE);
      assertThat(owner.inboundConnections()).isEqualTo(1);
      Await.until("the connection is given up", 20_000, () -> owner.inboundConnections() == 0);
      return answer;
    });
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

  /** Though the memory allows it all, and the intruder's own end asks for more than it gets. */
  @ParameterizedTest
  @EnumSource
  void whoKnowsTheSecretMayReadAndNothingElse(OtherRequest request) throws Exception {
    int everything =
        Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC;
    try (NativeMemory target = NativeMemory.allocate(4096, false);
        NativeMemory own = NativeMemory.allocate(4096, false);
        MemoryRegion targetRegion = WideRegion.register(owner.protectionDomain(), target)) {
      target.slice(0, OtherRequest.BYTES).putLong(4711);
      own.slice(0, OtherRequest.BYTES).putLong(4712);
      int status = connect(handshake.request(NONCE, peer), (answer, id, pair, domain, queue) -> {
        assertThat(answer.type()).isEqualTo(CmEventType.CONNECT_RESPONSE);
        pair.toReady(new QueuePairLimits(everything, Mtu.LARGEST_BYTES, 16, 16));
        id.establish();
        try (MemoryRegion ownRegion = domain.register(own.address(), 4096, Access.LOCAL_WRITE)) {
          return request.statusOn(pair, queue, ownRegion, targetRegion);
        }
      });
      if (request == OtherRequest.READ) {
        assertThat(status).isEqualTo(WcStatus.SUCCESS);
        assertThat(own.slice(0, OtherRequest.BYTES).getLong()).isEqualTo(4711);
      } else {
        assertThat(status).isIn(WcStatus.REM_ACCESS_ERR, WcStatus.REM_INV_REQ_ERR);
      }
      assertThat(target.slice(0, OtherRequest.BYTES).getLong()).isEqualTo(4711);
    }
  }
}
