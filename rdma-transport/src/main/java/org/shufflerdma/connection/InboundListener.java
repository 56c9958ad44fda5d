/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.verbs.CmEvent;
import org.shufflerdma.verbs.CmEventType;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.QueuePair;
import org.shufflerdma.verbs.QueuePairAttributes;
import org.shufflerdma.verbs.QueuePairCapabilities;
import org.shufflerdma.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The side that peers connect to. It lets in who proves the application's secret, and then does
 * nothing: its queue pairs serve READs without this process. Requests and ends come in the event
 * loop's thread; what may block is left to the closer.
 */
final class InboundListener {
  private static final Logger LOG = LoggerFactory.getLogger(InboundListener.class);

  /** As many as the kernel lets wait at a listener of rdma_cm ({@code net.rdma_ucm.max_backlog}). */
  private static final int BACKLOG = 1024;

  private static final int MAX_PENDING = 1024;
  private static final int REMEMBERED_NONCES = 1 << 16;
  private static final QueuePairCapabilities SERVES_ONLY = new QueuePairCapabilities(1, 1, 1, 1, 0);

  private final TransportSettings settings;
  private final LocalIdentity identity;
  private final Nonce bootNonce;
  private final Handshake handshake;
  private final Canary canary;
  private final ProtectionDomain domain;
  private final CompletionQueue idleQueue;
  private final QueuePairSetup setup;
  private final CmEventLoop loop;
  private final Executor closer;
  private final TransportStats stats;
  private final Set<Inbound> inbound = ConcurrentHashMap.newKeySet();

  /** How many of them are not established yet. */
  private final AtomicInteger pending = new AtomicInteger();

  private final LogThrottle rejections = new LogThrottle();

  /** Touched by the event loop alone. */
  private final Map<ByteBuffer, Boolean> seenNonces = new LinkedHashMap<>() {
    private static final long serialVersionUID = 1L;

    @Override
    protected boolean removeEldestEntry(Map.Entry<ByteBuffer, Boolean> eldest) {
      return size() > REMEMBERED_NONCES;
    }
  };

  private volatile int stagingPort;
  private volatile boolean closed;
  private volatile @Nullable ConnectionId listenId;

  InboundListener(
      TransportSettings settings,
      LocalIdentity identity,
      Nonce bootNonce,
      Handshake handshake,
      Canary canary,
      ProtectionDomain domain,
      CompletionQueue idleQueue,
      QueuePairSetup setup,
      CmEventLoop loop,
      Executor closer,
      TransportStats stats) {
    this.settings = settings;
    this.identity = identity;
    this.bootNonce = bootNonce;
    this.handshake = handshake;
    this.canary = canary;
    this.domain = domain;
    this.idleQueue = idleQueue;
    this.setup = setup;
    this.loop = loop;
    this.closer = closer;
    this.stats = stats;
  }

  /** Lets peers in by an id that is bound to its address, and which is now the listener's. */
  void listen(ConnectionId bound) throws VerbsException {
    listenId = bound;
    loop.handle(bound, this::onListenerEvent);
    bound.listen(BACKLOG);
  }

  /** Peers that connect from now on learn where this process stages map outputs. */
  void tellStagingPort(int port) {
    stagingPort = port;
  }

  int connections() {
    return inbound.size();
  }

  /** Asks the device for the attributes in force of the queue pairs that serve peers. */
  List<QueuePairAttributes> attributes() throws VerbsException {
    List<QueuePairAttributes> attributes = new ArrayList<>();
    for (Inbound connection : inbound) {
      attributes.add(connection.queuePair.attributes());
    }
    return attributes;
  }

  private void onListenerEvent(CmEvent event) {
    if (event.type() != CmEventType.CONNECT_REQUEST) {
      LOG.warn("The RDMA listener got an unexpected event: {}", event);
      return;
    }
    byte[] request = event.privateData();
    PeerFailure reason = reasonToReject(request);
    try {
      if (reason == null) {
        accept(event, request);
      } else {
        reject(event.id(), reason);
      }
    } catch (VerbsException | RuntimeException e) {
      LOG.warn("A connect request could not be answered", e);
      turnAway(event.id());
      closer.execute(() -> destroy(event.id(), null));
    }
  }

  /** Has the peer ask again later, if it can still be told; else the device rejects the request without a reason. */
  private void turnAway(ConnectionId id) {
    try {
      id.reject(Handshake.rejection(PeerFailure.TOO_MANY, bootNonce));
    } catch (VerbsException | RuntimeException e) {
      LOG.debug("A request could not be rejected", e);
    }
  }

  private @Nullable PeerFailure reasonToReject(byte[] request) {
    if (closed) {
      return PeerFailure.LISTENER_CLOSED;
    }
    PeerFailure reason = handshake.checkRequest(request, identity.executorId(), bootNonce);
    if (reason != null) {
      return reason;
    }
    if (seenNonces.put(ByteBuffer.wrap(Handshake.clientNonce(request)), true) != null) {
      return PeerFailure.REPLAY;
    }
    boolean full = inbound.size() >= settings.maxInboundConnections();
    return pending.get() >= MAX_PENDING || (full && !endOldest()) ? PeerFailure.TOO_MANY : null;
  }

  /**
   * A host that is lost says no goodbye, so the places of those that are gone would never come back.
   * A reader that is still there connects again. False if none has had its place for as long as a
   * peer that fails is left alone.
   */
  private boolean endOldest() {
    long leastAgeNs = TimeUnit.MILLISECONDS.toNanos(settings.breakerOpenMs());
    Optional<Inbound> oldest = inbound.stream()
        .filter(connection -> connection.established.get() && !connection.ended.get())
        .filter(connection -> connection.ageNs() >= leastAgeNs)
        .max(Comparator.comparingLong(Inbound::ageNs));
    oldest.ifPresent(Inbound::end);
    return oldest.isPresent();
  }

  private void reject(ConnectionId id, PeerFailure reason) throws VerbsException {
    stats.connectionsRejected.increment();
    long held = rejections.tryLog();
    if (held >= 0) {
      LOG.info(
          "Rejecting an RDMA connection from {}: {}. {} more were rejected since the last message.",
          id.peerAddress(),
          reason,
          held);
    }
    id.reject(Handshake.rejection(reason, bootNonce));
    closer.execute(() -> destroy(id, null));
  }

  /** Throws only while the id is still the caller's. */
  private void accept(CmEvent event, byte[] request) throws VerbsException {
    ConnectionId id = event.id();
    QueuePair queuePair = id.createQueuePair(domain, idleQueue, idleQueue, SERVES_ONLY);
    Inbound connection = new Inbound(id, queuePair);
    try {
      byte[] reply = handshake.reply(
          request,
          identity.executorId(),
          bootNonce,
          new Handshake.Reply(canary.address(), canary.rkey(), stagingPort));
      connection.accept(reply, event.responderResources());
    } catch (VerbsException | RuntimeException e) {
      LOG.warn(
          "A connect request from {} could not be accepted; its sender may be gone: {}",
          id.peerAddress(),
          e.toString());
      LOG.debug("The accept failed with this exception", e);
      turnAway(id);
      connection.end();
    }
    if (closed) { // by one who may have seen the others, but not this one
      connection.end();
    }
  }

  private void destroy(ConnectionId id, @Nullable QueuePair queuePair) {
    loop.forget(id);
    try {
      if (queuePair != null) {
        queuePair.close();
      }
      id.close();
    } catch (IOException | IllegalStateException e) {
      LOG.warn("An inbound connection could not be destroyed", e);
    }
  }

  /**
   * Gives up requests that were accepted but never became connections. Their senders have proved that they are of the
   * application, and may only be slow: many connect when a stage begins.
   */
  void expirePending() {
    long timeoutNs = TimeUnit.MILLISECONDS.toNanos(
        Math.max(settings.connectTimeoutMs(), settings.progressTimeoutMs()));
    for (Inbound connection : inbound) {
      if (!connection.established.get() && connection.ageNs() > timeoutNs) {
        connection.end();
      }
    }
  }

  /**
   * Lets nobody in from now on and ends the connections; the closer destroys them. Waits for the
   * event loop to be done with the listener, so the loop must not call.
   */
  void close() {
    refuse();
    ConnectionId bound = listenId;
    if (bound != null) {
      destroy(bound, null);
    }
  }

  /** Ends the connection with this queue pair, if it is one of these. */
  void endQueuePair(int number) {
    inbound.stream().filter(one -> one.queuePair.number() == number).forEach(Inbound::end);
  }

  /**
   * Closes the connections like close, but keeps the listener, which rejects all requests. Any
   * thread may call.
   */
  void refuse() {
    closed = true;
    inbound.forEach(Inbound::end);
  }

  /**
   * One accepted connection; the event loop's thread accepts it and handles its events. Any thread
   * may end it: the closer then destroys it, but not before it is accepted.
   */
  private final class Inbound implements CmEventLoop.Handler {
    private final ConnectionId id;
    private final QueuePair queuePair;
    private final long sinceNs = System.nanoTime();
    private final AtomicBoolean ended = new AtomicBoolean();
    private final AtomicBoolean established = new AtomicBoolean();

    Inbound(ConnectionId id, QueuePair queuePair) {
      this.id = id;
      this.queuePair = queuePair;
    }

    long ageNs() {
      return System.nanoTime() - sinceNs;
    }

    synchronized void accept(byte[] reply, int wantedResources) throws VerbsException {
      inbound.add(this);
      pending.incrementAndGet();
      loop.handle(id, this);
      setup.prepare(id);
      setup.responderReady(queuePair);
      id.accept(setup.answer(reply, wantedResources));
    }

    @Override
    public void handle(CmEvent event) {
      if (event.type() == CmEventType.ESTABLISHED) {
        beEstablished();
        stats.connectionsAccepted.increment();
      } else {
        LOG.debug("An inbound connection ends because of {}", event); // its id may be gone
        end();
      }
    }

    private void end() {
      if (ended.compareAndSet(false, true)) {
        closer.execute(this::destroyIt);
      }
    }

    private synchronized void destroyIt() {
      disconnect();
      destroy(id, queuePair);
      if (inbound.remove(this)) {
        beEstablished(); // or never
      }
    }

    /** Not synchronized: the event loop must not wait for the closer, who waits for the event's acknowledgement. */
    private void beEstablished() {
      if (established.compareAndSet(false, true)) {
        pending.decrementAndGet();
      }
    }

    private void disconnect() {
      try {
        id.disconnect();
      } catch (IOException e) {
        LOG.debug("The disconnect of an inbound connection failed", e);
      }
    }
  }
}
