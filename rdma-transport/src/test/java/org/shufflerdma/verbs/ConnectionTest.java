/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shufflerdma.verbs.Loopback.TIMEOUT_MS;
import static org.shufflerdma.verbs.Loopback.expect;
import static org.shufflerdma.verbs.Loopback.parameters;
import static org.shufflerdma.verbs.Loopback.take;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class ConnectionTest {
  @Test
  void privateDataDepthsAndQueuePairNumbersTravelBothWays() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      loopback.resolve();
      Loopback.Side client = loopback.side(loopback.client);
      byte[] ask = bytes("who are you", 56);
      byte[] answer = bytes("your executor", 196);
      loopback.client.connect(new ConnectParameters(ask, 3, 5, 7, 7));
      try (CmEvent request = take(loopback.serverChannel, CmEventType.CONNECT_REQUEST)) {
        assertThat(request.listenId()).isSameAs(loopback.listener);
        assertThat(request.privateData()).isEqualTo(ask);
        assertThat(request.qpNum()).isEqualTo(client.pair.number());
        assertThat(request.responderResources()).isEqualTo(5);
        assertThat(request.initiatorDepth()).isEqualTo(3);
        ConnectionId accepted = loopback.own(request.id());
        loopback.side(accepted).pair.toReady(Loopback.LIMITS);
        accepted.accept(new ConnectParameters(answer, 2, 2, 7, 7));
        assertThat(accepted.peerAddress()).isEqualTo(loopback.client.localAddress());
      }
      try (CmEvent response = take(loopback.clientChannel, CmEventType.CONNECT_RESPONSE)) {
        assertThat(response.id()).isSameAs(loopback.client);
        assertThat(response.privateData()).isEqualTo(answer);
      }
      client.pair.toReady(Loopback.LIMITS);
      loopback.client.establish();
      expect(loopback.serverChannel, CmEventType.ESTABLISHED);
    }
  }

  @Test
  void rejectCarriesPrivateData() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      loopback.resolve();
      loopback.side(loopback.client);
      loopback.client.connect(parameters());
      byte[] reason = bytes("wrong nonce", 148);
      try (CmEvent request = take(loopback.serverChannel, CmEventType.CONNECT_REQUEST)) {
        loopback.own(request.id()).reject(reason);
      }
      try (CmEvent rejected = take(loopback.clientChannel, CmEventType.REJECTED)) {
        assertThat(rejected.status()).isNotZero();
        assertThat(rejected.privateData()).isEqualTo(reason);
      }
    }
  }

  @Test
  void disconnectReachesBothEndsAndFailsTheQueuePairs() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      Loopback.Pair pair = loopback.connect();
      loopback.client.disconnect();
      loopback.answerDisconnect();
      expect(loopback.clientChannel, CmEventType.DISCONNECTED);
      assertThat(pair.initiator().pair.attributes().state()).isEqualTo(QueuePairState.ERR);
    }
  }

  @Test
  void connectWithoutListenerEndsInAnEvent() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      loopback.resolve();
      loopback.side(loopback.client);
      loopback.listener.close();
      loopback.client.connect(parameters());
      try (CmEvent event = loopback.clientChannel.poll(TIMEOUT_MS)) {
        assertThat(event).isNotNull();
        assertThat(event.type())
            .isIn(CmEventType.REJECTED, CmEventType.UNREACHABLE, CmEventType.CONNECT_ERROR);
        assertThat(event.status()).isNotZero();
      }
    }
  }

  @Test
  void ipv6AddressesArriveWhole() throws Exception {
    InetAddress address = TestDevice.address6();
    try (Loopback loopback = Loopback.listening(address)) {
      assertThat(loopback.listenAddress().getAddress()).isEqualTo(address);
      Loopback.Pair pair = loopback.connect();
      InetSocketAddress peer = loopback.client.peerAddress();
      assertThat(peer).isEqualTo(loopback.listenAddress());
      assertThat(pair.initiator().pair.attributes().state()).isEqualTo(QueuePairState.RTS);
    }
  }

  @Test
  void idsClosedWhileTheirEventsArriveLeaveNothingBehind() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      EventChannel channel = EventChannel.open();
      AtomicBoolean done = new AtomicBoolean();
      ExecutorService thread = Executors.newSingleThreadExecutor();
      Future<?> poller = thread.submit(() -> pollUntil(channel, done));
      thread.shutdown();
      for (int i = 0; i < 300; i++) {
        try (ConnectionId id = channel.createId()) {
          id.resolveAddress(null, loopback.listenAddress(), TIMEOUT_MS);
        }
      }
      done.set(true);
      poller.get(TIMEOUT_MS, TimeUnit.MILLISECONDS);
      channel.close();
      assertThat(channel.isOpen()).isFalse();
    }
  }

  private static @Nullable Void pollUntil(EventChannel channel, AtomicBoolean done)
      throws VerbsException {
    while (!done.get()) {
      CmEvent event = channel.poll(5);
      if (event != null) {
        event.close();
      }
    }
    return null;
  }

  @Test
  void pollReturnsNullAfterTheTimeout() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      assertThat(loopback.clientChannel.poll(1)).isNull();
    }
  }

  @Test
  void anUnboundIdHasNoAddressAndNoDevice() throws Exception {
    TestDevice.open();
    try (EventChannel channel = EventChannel.open();
        ConnectionId id = channel.createId()) {
      assertThat(id.localAddress()).isNull();
      assertThat(id.peerAddress()).isNull();
      assertThat(id.context()).isNull();
      assertThat(id.deviceName()).isNull();
    }
  }

  @Test
  void anUnboundIdRefusesWhatNeedsADevice() throws Exception {
    TestDevice.open();
    try (EventChannel channel = EventChannel.open();
        ConnectionId id = channel.createId()) {
      assertInvalid(() -> id.resolveRoute(TIMEOUT_MS));
      assertInvalid(() -> id.connect(parameters()));
      assertInvalid(() -> id.accept(parameters()));
      assertInvalid(id::disconnect);
    }
  }

  private static void assertInvalid(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VerbsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EINVAL));
  }

  @Test
  void anIdOfALoopbackAddressHasNoDeviceUntilItsDestinationIsResolved() throws Exception {
    try (Loopback loopback = Loopback.listening();
        ConnectionId id = loopback.clientChannel.createId()) {
      id.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      assertThat(id.context()).isNull();
      loopback.resolve();
      assertThat(loopback.clientChannel.devices()).containsExactly(loopback.client.context());
    }
  }

  @Test
  void closingAnIdInsideItsEventIsRefused() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      loopback.client.resolveAddress(null, loopback.listenAddress(), TIMEOUT_MS);
      try (CmEvent event = take(loopback.clientChannel, CmEventType.ADDR_RESOLVED)) {
        assertThat(event.id()).isSameAs(loopback.client);
        assertThatIllegalStateException()
            .isThrownBy(loopback.client::close)
            .withMessageContaining("close the id's event first");
      }
    }
  }

  @Test
  void closingAListenerInsideARequestIsRefused() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      loopback.resolve();
      loopback.client.connect(new ConnectParameters(new byte[0], 1, 1, 7, 7));
      ConnectionId requested;
      try (CmEvent request = take(loopback.serverChannel, CmEventType.CONNECT_REQUEST)) {
        requested = request.id();
        assertThatIllegalStateException()
            .isThrownBy(loopback.listener::close)
            .withMessageContaining("close the id's event first");
      }
      requested.close();
      expect(loopback.clientChannel, CmEventType.REJECTED);
    }
  }

  @Test
  void closingOutOfOrderNamesTheUser() throws Exception {
    try (Loopback loopback = Loopback.listening()) {
      Loopback.Pair pair = loopback.connect();
      assertThatIllegalStateException()
          .isThrownBy(loopback.client::close)
          .withMessageContaining("queue pair is still open");
      assertThatIllegalStateException()
          .isThrownBy(loopback.clientChannel::close)
          .withMessageContaining("1 open connection ids");
      assertThatThrownBy(pair.initiator().queue::close)
          .isInstanceOfSatisfying(
              VerbsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EBUSY));
      assertThatThrownBy(pair.initiator().domain::close)
          .isInstanceOfSatisfying(
              VerbsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EBUSY));
    }
  }

  @Test
  void closedObjectsRefuseUseAndCloseAgainQuietly() throws Exception {
    EventChannel channel;
    ConnectionId id;
    TestDevice.open();
    try (EventChannel opened = EventChannel.open();
        ConnectionId created = opened.createId()) {
      channel = opened;
      id = created;
    }
    id.close();
    channel.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> id.listen(1))
        .withMessage("ConnectionId is closed");
    assertThatIllegalStateException()
        .isThrownBy(() -> channel.poll(0))
        .withMessage("EventChannel is closed");
  }

  @Test
  void everythingIsGivenBack() throws Exception {
    TestDevice.Live before = TestDevice.live();
    try (Loopback loopback = Loopback.listening()) {
      loopback.connect();
      assertThat(TestDevice.live().queuePairs()).isEqualTo(before.queuePairs() + 2);
    }
    assertThat(TestDevice.live()).isEqualTo(before);
  }

  private static byte[] bytes(String text, int length) {
    return Arrays.copyOf(text.getBytes(StandardCharsets.US_ASCII), length);
  }
}
