/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * A listener and a client on {@link TestDevice}, connected step by step by the test that owns them.
 * Everything made through {@link #own} is closed in reverse order.
 */
final class Loopback implements AutoCloseable {
  /** Another process may have to start first, on an emulated processor. */
  static final int TIMEOUT_MS = 60_000;

  static final QueuePairCapabilities CAPABILITIES = new QueuePairCapabilities(64, 8, 1, 1, 0);
  static final QueuePairLimits LIMITS =
      new QueuePairLimits(Access.REMOTE_READ, Mtu.LARGEST_BYTES, 16, 16);

  final Verbs verbs;
  final EventChannel serverChannel;
  final EventChannel clientChannel;
  final ConnectionId listener;
  final ConnectionId client;
  private final Deque<AutoCloseable> owned = new ArrayDeque<>();
  private boolean forReads = true;

  private Loopback(Verbs verbs, InetAddress address) throws VerbsException {
    this.verbs = verbs;
    serverChannel = own(EventChannel.open());
    clientChannel = own(EventChannel.open());
    listener = own(serverChannel.createId());
    client = own(clientChannel.createId());
    listener.bind(new InetSocketAddress(address, 0));
    listener.listen(8);
  }

  static Loopback listening() throws VerbsException {
    return listening(TestDevice.address());
  }

  static Loopback listening(InetAddress address) throws VerbsException {
    return new Loopback(TestDevice.open(), address);
  }

  <T extends AutoCloseable> T own(T resource) {
    owned.push(resource);
    return resource;
  }

  static void expect(EventChannel channel, CmEventType type) throws VerbsException {
    take(channel, type).close();
  }

  /** The next event, which must be of this type; the caller closes it. */
  static CmEvent take(EventChannel channel, CmEventType type) throws VerbsException {
    CmEvent event = channel.poll(TIMEOUT_MS);
    assertThat(event).as("event in place of %s", type).isNotNull();
    if (event.type() != type) {
      event.close();
    }
    assertThat(event.type()).as("status %s", event.status()).isEqualTo(type);
    return event;
  }

  /** The passive end's part of a disconnect: the other end waits for its answer. */
  void answerDisconnect() throws VerbsException {
    try (CmEvent event = take(serverChannel, CmEventType.DISCONNECTED)) {
      event.id().disconnect();
    }
  }

  InetSocketAddress listenAddress() {
    InetSocketAddress address = listener.localAddress();
    assertThat(address).isNotNull();
    return address;
  }

  /** Resolves the client's address and route to the listener. */
  void resolve() throws VerbsException {
    resolve(listenAddress());
  }

  private void resolve(InetSocketAddress address) throws VerbsException {
    client.resolveAddress(null, address, TIMEOUT_MS);
    expect(clientChannel, CmEventType.ADDR_RESOLVED);
    client.resolveRoute(TIMEOUT_MS);
    expect(clientChannel, CmEventType.ROUTE_RESOLVED);
  }

  /** Connects the client to another process's listener. */
  Side connectTo(InetSocketAddress address) throws VerbsException {
    resolve(address);
    Side initiator = side(client);
    client.connect(parameters());
    establish(initiator, LIMITS);
    return initiator;
  }

  private void establish(Side initiator, QueuePairLimits limits) throws VerbsException {
    expect(clientChannel, CmEventType.CONNECT_RESPONSE);
    initiator.pair.toReady(limits);
    client.establish();
  }

  /** Accepts another process's connection, its queue pair in this domain. */
  void acceptInto(ProtectionDomain domain) throws VerbsException {
    try (CmEvent request = take(serverChannel, CmEventType.CONNECT_REQUEST)) {
      ConnectionId id = own(request.id());
      DeviceContext context = id.context();
      assertThat(context).isNotNull();
      CompletionQueue queue = own(context.createCompletionQueue(16, null, 0));
      own(id.createQueuePair(domain, queue, queue, CAPABILITIES)).toReady(LIMITS);
      id.accept(parameters());
    }
    expect(serverChannel, CmEventType.ESTABLISHED);
  }

  Side side(ConnectionId id) throws VerbsException {
    return new Side(this, id, CAPABILITIES);
  }

  Side side(ConnectionId id, QueuePairCapabilities capabilities) throws VerbsException {
    return new Side(this, id, capabilities);
  }

  static ConnectParameters parameters(byte... privateData) {
    return new ConnectParameters(privateData, 16, 16, 7, 7);
  }

  /** Connects both ends; the client is the initiator. Each wants and has what its limits say. */
  Pair connect(
      QueuePairCapabilities capabilities, QueuePairLimits ofInitiator, QueuePairLimits ofResponder)
      throws VerbsException {
    resolve();
    Side initiator = side(client, capabilities);
    client.connect(parameters(ofInitiator));
    Side responder;
    try (CmEvent request = take(serverChannel, CmEventType.CONNECT_REQUEST)) {
      responder = side(own(request.id()));
      responder.pair.toReady(ofResponder);
      request.id().accept(parameters(ofResponder));
    }
    establish(initiator, ofInitiator);
    expect(serverChannel, CmEventType.ESTABLISHED);
    return new Pair(initiator, responder);
  }

  private static ConnectParameters parameters(QueuePairLimits limits) {
    return new ConnectParameters(
        new byte[0], limits.responderResources(), limits.initiatorDepth(), 7, 7);
  }

  /** The same with queue pairs on which everything may be posted. */
  Pair connectForAll(QueuePairLimits ofInitiator, QueuePairLimits ofResponder)
      throws VerbsException {
    forReads = false;
    return connect(CAPABILITIES, ofInitiator, ofResponder);
  }

  Pair connect(QueuePairCapabilities capabilities) throws VerbsException {
    return connect(capabilities, LIMITS, LIMITS);
  }

  Pair connect() throws VerbsException {
    return connect(CAPABILITIES);
  }

  @Override
  public void close() throws VerbsException {
    while (!owned.isEmpty()) {
      try {
        owned.pop().close();
      } catch (VerbsException | RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new AssertionError("verbs objects throw nothing else", e);
      }
    }
  }

  record Pair(Side initiator, Side responder) {}

  /**
   * One end of a connection: its domain, its one completion queue and its queue pair. The client's is for READs alone, but
   * for {@link #connectForAll}.
   */
  static final class Side {
    final ProtectionDomain domain;
    final CompletionChannel channel;
    final CompletionQueue queue;
    final QueuePair pair;
    private final CompletionBatch batch = new CompletionBatch(16);

    private Side(Loopback loopback, ConnectionId id, QueuePairCapabilities capabilities)
        throws VerbsException {
      DeviceContext context = id.context();
      assertThat(context).isNotNull();
      domain = loopback.own(context.allocProtectionDomain());
      channel = loopback.own(context.createCompletionChannel());
      queue = loopback.own(context.createCompletionQueue(256, channel, 0));
      pair = loopback.own(
          id == loopback.client && loopback.forReads
              ? id.createQueuePairForReads(domain, queue, queue, capabilities)
              : id.createQueuePair(domain, queue, queue, capabilities));
    }

    /** Polls until there is a completion. */
    CompletionBatch awaitCompletion() throws VerbsException {
      long deadlineNs = System.nanoTime() + TIMEOUT_MS * 1_000_000L;
      while (queue.poll(batch) == 0) {
        assertThat(System.nanoTime()).as("no completion in time").isLessThan(deadlineNs);
        Thread.onSpinWait();
      }
      return batch;
    }
  }
}
