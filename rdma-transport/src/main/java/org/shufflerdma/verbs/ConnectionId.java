/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.shufflerdma.verbs.Dispatcher.DISNI;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An rdma_cm id: a listener or one end of a connection. The verbs are asynchronous, their outcome
 * comes as an event of the channel. It owns its queue pair's place: the queue pair is closed first.
 * Closing waits until all events of the id are acknowledged.
 */
public final class ConnectionId extends NativeObject {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionId.class);

  /** Whether the log has said that a provider does not take the wish for READs alone. */
  private static final AtomicBoolean REFUSAL_LOGGED = new AtomicBoolean();

  /* Options of level RDMA_OPTION_ID (rdma_cma.h). */
  private static final int TYPE_OF_SERVICE = 0;
  private static final int ACK_TIMEOUT = 3;

  private final EventChannel channel;
  private volatile @Nullable QueuePair queuePair;
  private volatile @Nullable DeviceContext context;
  private final AtomicInteger heldEvents = new AtomicInteger();
  private volatile @Nullable Thread eventPoller;

  ConnectionId(EventChannel channel, long handle) {
    super(handle);
    this.channel = channel;
  }

  public void bind(InetSocketAddress address) throws VerbsException {
    InetAddress ip = resolved(address);
    Natives.bindAddress(handle(), ip.getAddress(), scopeId(ip), address.getPort());
  }

  public void listen(int backlog) throws VerbsException {
    DISNI._listen(handle(), backlog);
  }

  /** Returns the local address; null while the id is not bound. */
  public @Nullable InetSocketAddress localAddress() {
    return address(false);
  }

  /** Returns the peer's address; null while there is no peer. */
  public @Nullable InetSocketAddress peerAddress() {
    return address(true);
  }

  /** Resolves the address. The outcome is the event ADDR_RESOLVED or ADDR_ERROR. */
  public void resolveAddress(
      @Nullable InetSocketAddress source, InetSocketAddress destination, int timeoutMs)
      throws VerbsException {
    InetAddress to = resolved(destination);
    InetAddress from = source == null ? null : resolved(source);
    Natives.resolveAddress(
        handle(),
        from == null ? null : from.getAddress(),
        from == null ? 0 : scopeId(from),
        source == null ? 0 : source.getPort(),
        to.getAddress(),
        scopeId(to),
        destination.getPort(),
        timeoutMs);
  }

  /** Resolves the route. The outcome is the event ROUTE_RESOLVED or ROUTE_ERROR. */
  public void resolveRoute(int timeoutMs) throws VerbsException {
    DISNI._resolveRoute(handle(), timeoutMs);
  }

  /**
   * Returns the device to which the id is bound; null before that. The device belongs to rdma_cm
   * and is never closed.
   */
  public @Nullable DeviceContext context() throws VerbsException {
    if (context == null) {
      long verbs = DISNI._getContext(handle());
      context = verbs == -1 ? null : new DeviceContext(verbs);
    }
    return context;
  }

  /** Returns the name of the device to which the id is bound; null before that. */
  public @Nullable String deviceName() throws VerbsException {
    DeviceContext bound = context();
    return bound == null ? null : bound.name();
  }

  /** Returns the port of the device to which the id is bound; 0 before that. */
  public int port() {
    return Natives.port(handle());
  }

  /**
   * Sets the byte that packets of the connection carry as IP's type of service or traffic class; on
   * InfiniBand the subnet manager takes it as the QoS class. To be called before the route is
   * resolved.
   */
  public void setTypeOfService(int value) throws VerbsException {
    Natives.setOption(handle(), TYPE_OF_SERVICE, value);
  }

  /**
   * Sets how long this end waits for an acknowledgement before it sends again: 4.096 us * 2^{@code
   * exponent}, 1 to 31. To be called before the route is resolved, or before accept. Linux before
   * 5.1 cannot.
   */
  public void setAckTimeout(int exponent) throws VerbsException {
    Natives.setOption(handle(), ACK_TIMEOUT, exponent);
  }

  /**
   * Creates the RC queue pair of this id. Unsignalled requests get no completion. The queue pair
   * can be used once {@link QueuePair#toReady} has moved it. Fails with EINVAL if the domain does
   * not belong to the id's device.
   */
  public QueuePair createQueuePair(
      ProtectionDomain domain,
      CompletionQueue sendCq,
      CompletionQueue recvCq,
      QueuePairCapabilities wanted)
      throws VerbsException {
    return createQueuePair(domain, sendCq, recvCq, wanted, false);
  }

  /**
   * Does the same for a queue pair on which nothing but READs is posted. A provider that is told so may make its send queue
   * smaller; one that cannot be told makes the same as without.
   */
  public QueuePair createQueuePairForReads(
      ProtectionDomain domain,
      CompletionQueue sendCq,
      CompletionQueue recvCq,
      QueuePairCapabilities wanted)
      throws VerbsException {
    try {
      return createQueuePair(domain, sendCq, recvCq, wanted, true);
    } catch (VerbsException e) {
      // Providers refuse what they do not know with various errors, but not with this one.
      if (e.errno() == Errno.ENOMEM) {
        throw e;
      }
      QueuePair made = createQueuePair(domain, sendCq, recvCq, wanted, false);
      if (!REFUSAL_LOGGED.getAndSet(true)) {
        LOG.debug("The device makes queue pairs for READs like any other", e);
      }
      return made;
    }
  }

  private QueuePair createQueuePair(
      ProtectionDomain domain,
      CompletionQueue sendCq,
      CompletionQueue recvCq,
      QueuePairCapabilities wanted,
      boolean forReads)
      throws VerbsException {
    if (queuePair != null) {
      throw new IllegalStateException("the connection id already has a queue pair");
    }
    int[] capabilities = wanted.toArray();
    long handle = Natives.createQueuePair(
        handle(), domain.handle(), sendCq.handle(), recvCq.handle(), forReads, capabilities);
    QueuePair created = new QueuePair(handle, this, QueuePairCapabilities.of(capabilities));
    queuePair = created;
    return created;
  }

  /**
   * Sends the connection request. The outcome is the event CONNECT_RESPONSE, REJECTED, UNREACHABLE
   * or CONNECT_ERROR.
   */
  public void connect(ConnectParameters p) throws VerbsException {
    Natives.connect(
        handle(),
        queuePairNumber(),
        p.privateData(),
        p.responderResources(),
        p.initiatorDepth(),
        p.retryCount(),
        p.rnrRetryCount());
  }

  /** Answers CONNECT_RESPONSE, once the queue pair is ready. The other end sees ESTABLISHED. */
  public void establish() throws VerbsException {
    Natives.establish(handle());
  }

  /**
   * Answers CONNECT_REQUEST, once the queue pair is ready. The outcome is the event ESTABLISHED.
   */
  public void accept(ConnectParameters p) throws VerbsException {
    Natives.accept(
        handle(),
        queuePairNumber(),
        p.privateData(),
        p.responderResources(),
        p.initiatorDepth(),
        p.retryCount(),
        p.rnrRetryCount());
  }

  /** Refuses a CONNECT_REQUEST; the peer sees REJECTED with up to 148 bytes of private data. */
  public void reject(byte[] privateData) throws VerbsException {
    Natives.reject(handle(), privateData);
  }

  /**
   * Ends the connection: both ends see DISCONNECTED and their queue pairs go to the error state.
   * The other end answers its DISCONNECTED with the same call; otherwise this end waits for a
   * timeout.
   */
  public void disconnect() throws VerbsException {
    QueuePair own = queuePair;
    try {
      if (own != null) {
        own.toError();
      }
    } finally {
      Natives.disconnect(handle());
    }
  }

  @Override
  void release(long handle) throws VerbsException {
    if (queuePair != null) {
      throw new IllegalStateException("the connection id's queue pair is still open");
    }
    if (heldEvents.get() > 0 && eventPoller == Thread.currentThread()) {
      throw new IllegalStateException("close the id's event first: destroying waits for it");
    }
    check("rdma_destroy_id", Natives.destroyId(handle));
    channel.forget(handle, this);
  }

  void queuePairDestroyed() {
    queuePair = null;
  }

  private int queuePairNumber() {
    QueuePair own = queuePair;
    return own == null ? 0 : own.number();
  }

  void eventTaken() {
    eventPoller = Thread.currentThread();
    heldEvents.incrementAndGet();
  }

  void eventAcknowledged() {
    heldEvents.decrementAndGet();
  }

  private @Nullable InetSocketAddress address(boolean peer) {
    byte[] bytes = new byte[16];
    int[] portAndScope = new int[2];
    int length = Natives.address(handle(), peer, bytes, portAndScope);
    if (length == 0) {
      return null;
    }
    try {
      InetAddress ip = length == 16 && portAndScope[1] != 0
          ? Inet6Address.getByAddress(null, bytes, portAndScope[1])
          : InetAddress.getByAddress(Arrays.copyOf(bytes, length));
      return new InetSocketAddress(ip, portAndScope[0]);
    } catch (UnknownHostException e) {
      throw new AssertionError("4 or 16 bytes are always an address", e);
    }
  }

  private static InetAddress resolved(InetSocketAddress address) throws VerbsException {
    InetAddress ip = address.getAddress();
    if (ip == null) {
      throw new VerbsException(
          "host " + address.getHostString() + " cannot be resolved", "getaddrinfo", Errno.EINVAL);
    }
    return ip;
  }

  private static int scopeId(InetAddress address) {
    return address instanceof Inet6Address v6 ? v6.getScopeId() : 0;
  }
}
