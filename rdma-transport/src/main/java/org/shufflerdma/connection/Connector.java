/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.BufferPool;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.verbs.CmEventType;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.Errno;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.QueuePair;
import org.shufflerdma.verbs.QueuePairCapabilities;
import org.shufflerdma.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes connections to peers: address, route, queue pair, handshake and attributes, then the canary
 * READ. It blocks its caller until the deadline at most; any number of threads may connect at a time.
 */
final class Connector {
  private static final Logger LOG = LoggerFactory.getLogger(Connector.class);

  private final TransportSettings settings;
  private final DeviceContext device;
  private final QueuePairSetup setup;
  private final CmEventLoop loop;
  private final ProtectionDomain domain;
  private final CompletionQueue queue;
  private final PendingReads pending;
  private final CompletionPoller poller;
  private final BufferPool buffers;
  private final Handshake handshake;
  private final TransportStats stats;
  private final SecureRandom random = new SecureRandom();

  Connector(
      TransportSettings settings,
      DeviceContext device,
      QueuePairSetup setup,
      CmEventLoop loop,
      ProtectionDomain domain,
      CompletionQueue queue,
      PendingReads pending,
      CompletionPoller poller,
      BufferPool buffers,
      Handshake handshake,
      TransportStats stats) {
    this.settings = settings;
    this.device = device;
    this.setup = setup;
    this.loop = loop;
    this.domain = domain;
    this.queue = queue;
    this.pending = pending;
    this.poller = poller;
    this.buffers = buffers;
    this.handshake = handshake;
    this.stats = stats;
  }

  /** An established connection that has not been verified to lead to the peer's memory. */
  record Unverified(Connection connection, CmConversation conversation, Handshake.Reply reply) {}

  /** The caller verifies it next, and destroys it in the end. */
  Unverified connect(PeerState state, Consumer<Connection> whenBroken, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    PeerId peer = state.peer();
    CmConversation conversation = new CmConversation();
    ConnectionId id;
    try {
      id = loop.createId(conversation);
    } catch (VerbsException e) {
      throw new NoConnectionException(peer, PeerFailure.RESOURCES, "no connection id", e);
    }
    QueuePair queuePair = null;
    try {
      resolve(peer, id, conversation, deadline);
      queuePair = createQueuePair(peer, id);
      Handshake.Reply reply = shakeHands(peer, id, conversation, deadline);
      establish(peer, id, queuePair);
      state.stagesAt(reply.stagingPort());
      Connection connection =
          new Connection(state, id, queuePair, pending, poller, stats, whenBroken, settings);
      return new Unverified(connection, conversation, reply);
    } catch (Throwable t) {
      discard(id, queuePair);
      throw t;
    }
  }

  /** Reads the canary; a connection that does not bring it is broken. */
  void verify(Unverified made, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    Connection connection = made.connection();
    try {
      made.conversation().watchFor(connection);
      readCanary(connection, made.reply(), deadline);
      connection.verified();
      stats.connectionsOpened.increment();
    } catch (Throwable t) {
      connection.breakWith(PeerFailure.CLOSED, "it could not be verified");
      throw t;
    }
  }

  private void resolve(PeerId peer, ConnectionId id, CmConversation conversation, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    InetSocketAddress destination =
        new InetSocketAddress(peer.endpoint().host(), peer.endpoint().port());
    InetSocketAddress source = new InetSocketAddress(settings.bindAddress().getAddress(), 0);
    try {
      id.resolveAddress(source, destination, deadline.remainingMs());
      expect(CmEventType.ADDR_RESOLVED, peer, conversation, deadline);
      if (!device.equals(id.context())) {
        throw new NoConnectionException(
            peer, PeerFailure.ADDRESS, "its route leads to device " + id.deviceName());
      }
      setup.prepare(id);
      id.resolveRoute(deadline.remainingMs());
      expect(CmEventType.ROUTE_RESOLVED, peer, conversation, deadline);
    } catch (VerbsException e) {
      throw new NoConnectionException(peer, PeerFailure.ADDRESS, "no route was found", e);
    }
  }

  private QueuePair createQueuePair(PeerId peer, ConnectionId id) throws NoConnectionException {
    QueuePairCapabilities wanted = new QueuePairCapabilities(settings.sendQueueDepth(), 1, 1, 1, 0);
    try {
      return id.createQueuePair(domain, queue, queue, wanted);
    } catch (VerbsException e) {
      throw new NoConnectionException(peer, PeerFailure.RESOURCES, "no queue pair", e);
    }
  }

  private Handshake.Reply shakeHands(
      PeerId peer, ConnectionId id, CmConversation conversation, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    byte[] nonce = new byte[Handshake.CLIENT_NONCE_BYTES];
    random.nextBytes(nonce);
    byte[] request = handshake.request(nonce, peer);
    try {
      id.connect(setup.request(request));
    } catch (VerbsException e) {
      throw new NoConnectionException(peer, PeerFailure.REFUSED, "the request failed", e);
    }
    CmConversation.Outcome response =
        expect(CmEventType.CONNECT_RESPONSE, peer, conversation, deadline);
    return handshake.checkReply(response.privateData(), nonce, peer);
  }

  private static CmConversation.Outcome expect(
      CmEventType wanted, PeerId peer, CmConversation conversation, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    CmConversation.Outcome outcome = conversation.await(deadline);
    if (outcome == null) {
      throw new NoConnectionException(
          peer, PeerFailure.TIMEOUT, "no " + wanted + " within the connect timeout");
    }
    if (outcome.type() == wanted) {
      return outcome;
    }
    if (outcome.type() == CmEventType.REJECTED) {
      throw rejected(peer, outcome);
    }
    throw new NoConnectionException(
        peer, failureOf(outcome), outcome.type() + " with status " + outcome.status());
  }

  private static NoConnectionException rejected(PeerId peer, CmConversation.Outcome outcome) {
    Handshake.Rejection rejection = Handshake.readRejection(outcome.privateData());
    String text = rejection.reason() == PeerFailure.VERSION
        ? "its handshake has another version: give all executors the same build"
        : "rejected by nonce=" + rejection.serverNonce() + ", status " + outcome.status();
    return new NoConnectionException(peer, rejection.reason(), text);
  }

  private static PeerFailure failureOf(CmConversation.Outcome outcome) {
    return switch (outcome.type()) {
      case ADDR_ERROR, ROUTE_ERROR -> PeerFailure.ADDRESS;
      case UNREACHABLE ->
        outcome.status() == -Errno.ETIMEDOUT ? PeerFailure.TIMEOUT : PeerFailure.REFUSED;
      default -> PeerFailure.REFUSED;
    };
  }

  private void establish(PeerId peer, ConnectionId id, QueuePair queuePair)
      throws NoConnectionException {
    try {
      setup.initiatorReady(queuePair);
      id.establish();
    } catch (VerbsException | IllegalStateException e) {
      throw new NoConnectionException(peer, PeerFailure.RESOURCES, "not established", e);
    }
  }

  private void readCanary(Connection connection, Handshake.Reply reply, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    PeerId peer = connection.peer();
    RegisteredBuffer sink = sinkFor(peer, deadline);
    String wrong = null;
    try {
      AwaitedCompletion outcome = new AwaitedCompletion();
      Read read = new Read(reply.canaryAddress(), reply.canaryRkey(), Canary.SIZE_BYTES, 0);
      connection.postControl(List.of(read), sink, outcome, deadline);
      ReadFailure failure = outcome.await(deadline);
      if (failure != null) {
        wrong = failure.toString();
      } else if (!Canary.matches(
          sink.nioBuffer(0, Canary.SIZE_BYTES), peer.endpoint().bootNonce())) {
        wrong = "the canary has the wrong bytes";
      }
    } catch (TimeoutException e) {
      wrong = "the READ of the canary did not complete in time";
    } catch (NoConnectionException e) {
      wrong = "the READ of the canary could not be posted: " + e.reason();
    } finally {
      sink.release();
    }
    if (wrong != null) {
      throw new NoConnectionException(peer, PeerFailure.CANARY, wrong);
    }
  }

  private RegisteredBuffer sinkFor(PeerId peer, Deadline deadline)
      throws NoConnectionException, InterruptedException {
    try {
      return buffers.acquire(Canary.SIZE_BYTES, deadline);
    } catch (IOException e) {
      throw new NoConnectionException(peer, PeerFailure.RESOURCES, "no fetch buffer", e);
    }
  }

  private void discard(ConnectionId id, @Nullable QueuePair queuePair) {
    loop.forget(id);
    try {
      if (queuePair != null) {
        queuePair.close();
      }
      id.close();
    } catch (IOException | IllegalStateException e) {
      LOG.warn("The connection id of a failed attempt could not be destroyed", e);
    }
  }
}
