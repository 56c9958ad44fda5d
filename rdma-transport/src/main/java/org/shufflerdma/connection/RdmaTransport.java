/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.LoopThread;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.memory.BufferPool;
import org.shufflerdma.verbs.CompletionChannel;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.QueuePairAttributes;
import org.shufflerdma.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All of one process that RDMA needs, from device to listener: protection domain, completion queue
 * and its poller, connection manager, sinks, canary. Peers read what is registered in its domain;
 * it reads from them over the connections of its pool. Whoever opened it closes it, after having
 * deregistered what he registered in the domain.
 */
public final class RdmaTransport implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RdmaTransport.class);
  private static final int IDLE_QUEUE_ENTRIES = 16;
  private static final int CLOSER_THREADS = 2;
  private static final int PROBER_THREADS = 8;
  private static final int WATCHDOG_MS = 1_000;
  private static final int BUFFER_IDLE_MS = 10_000;
  private static final int PEER_UNUSED_MS = 600_000;
  private static final int STOP_MARGIN_MS = 3_000;

  private final TransportSettings settings;
  private final LocalIdentity identity;
  private final DeviceInfo device;
  private final RdmaEndpoint endpoint;
  private final ProtectionDomain domain;
  private final BufferPool buffers;
  private final ConnectionPool connections;
  private final InboundListener listener;
  private final TransportStats stats;
  private final Deque<AutoCloseable> acquired;
  private final AtomicBoolean closed = new AtomicBoolean();

  private RdmaTransport(
      TransportSettings settings,
      LocalIdentity identity,
      DeviceInfo device,
      RdmaEndpoint endpoint,
      ProtectionDomain domain,
      BufferPool buffers,
      ConnectionPool connections,
      InboundListener listener,
      TransportStats stats,
      Deque<AutoCloseable> acquired) {
    this.settings = settings;
    this.identity = identity;
    this.device = device;
    this.endpoint = endpoint;
    this.domain = domain;
    this.buffers = buffers;
    this.connections = connections;
    this.listener = listener;
    this.stats = stats;
    this.acquired = acquired;
  }

  /**
   * Opens the device that the bind address belongs to; if that is a loopback address, the first one
   * that is called so. The verbs must be open.
   *
   * @param deviceName what that device must be called; null takes any
   */
  public static RdmaTransport open(
      TransportSettings settings, @Nullable String deviceName, LocalIdentity identity)
      throws IOException {
    Deque<AutoCloseable> acquired = new ArrayDeque<>();
    try {
      return open(settings, deviceName, identity, acquired);
    } catch (Throwable t) {
      closeAll(acquired);
      throw t;
    }
  }

  private static RdmaTransport open(
      TransportSettings settings,
      @Nullable String deviceName,
      LocalIdentity identity,
      Deque<AutoCloseable> acquired)
      throws IOException {
    String name = "rdma-" + identity.executorId();
    Nonce bootNonce = Nonce.random();
    Handshake handshake = new Handshake(identity);
    TransportStats stats = new TransportStats();
    Bound bound = bind(settings, deviceName, name, acquired);
    Registered registered = register(settings, bound, bootNonce, acquired);
    Initiator initiator =
        openInitiator(settings, bound, registered, handshake, name, stats, acquired);
    InboundListener listener = new InboundListener(
        settings,
        identity,
        bootNonce,
        handshake,
        new Handshake.Reply(registered.canary().address(), registered.canary().rkey()),
        registered.domain(),
        registered.idleQueue(),
        bound.setup(),
        bound.loop(),
        initiator.closer(),
        stats);
    acquired.push(listener::close);
    start(settings, bound, registered, initiator, listener, name, acquired);
    RdmaEndpoint endpoint = endpointOf(bound.listenId(), bootNonce);
    LOG.info("RDMA listens at {} on device {}", endpoint, bound.info().name());
    return new RdmaTransport(
        settings,
        identity,
        bound.info(),
        endpoint,
        registered.domain(),
        registered.buffers(),
        initiator.connections(),
        listener,
        stats,
        acquired);
  }

  /** The device, and the connection manager's id that is bound to it and will listen. */
  private record Bound(
      CmEventLoop loop,
      LoopThread cmThread,
      ConnectionId listenId,
      DeviceContext device,
      DeviceInfo info,
      QueuePairSetup setup) {}

  private static Bound bind(
      TransportSettings settings,
      @Nullable String deviceName,
      String name,
      Deque<AutoCloseable> acquired)
      throws IOException {
    EventChannel channel = keep(acquired, EventChannel.open());
    CmEventLoop loop = new CmEventLoop(channel);
    LoopThread cmThread = keep(acquired, new LoopThread(name + "-cm", loop::turn));
    ConnectionId listenId = keep(acquired, channel.createId());
    listenId.bind(settings.bindAddress());
    DeviceContext device = deviceOf(channel, listenId, settings, deviceName);
    DeviceInfo info = device.query();
    return new Bound(
        loop, cmThread, listenId, device, info, new QueuePairSetup(settings.connection(), info));
  }

  /** The protection domain with its queues and with what is registered in it from the start. */
  private record Registered(
      ProtectionDomain domain,
      CompletionChannel events,
      CompletionQueue queue,
      CompletionQueue idleQueue,
      Canary canary,
      BufferPool buffers) {}

  private static Registered register(
      TransportSettings settings, Bound bound, Nonce bootNonce, Deque<AutoCloseable> acquired)
      throws IOException {
    DeviceContext device = bound.device();
    ProtectionDomain domain = keep(acquired, device.allocProtectionDomain());
    CompletionChannel events = keep(acquired, device.createCompletionChannel());
    CompletionQueue queue = keep(acquired, createQueue(device, settings, bound.info(), events));
    CompletionQueue idleQueue =
        keep(acquired, device.createCompletionQueue(IDLE_QUEUE_ENTRIES, null, 0));
    Canary canary = keep(acquired, Canary.open(domain, bootNonce));
    BufferPool buffers = keep(acquired, new BufferPool(domain, settings.pool()));
    return new Registered(domain, events, queue, idleQueue, canary, buffers);
  }

  /** The side that connects to peers and reads from them. */
  private record Initiator(
      LoopThread pollThread,
      ThreadPoolExecutor closer,
      ThreadPoolExecutor prober,
      ConnectionPool connections) {}

  private static Initiator openInitiator(
      TransportSettings settings,
      Bound bound,
      Registered registered,
      Handshake handshake,
      String name,
      TransportStats stats,
      Deque<AutoCloseable> acquired)
      throws IOException {
    PendingReads pending = new PendingReads();
    CompletionPoller poller =
        new CompletionPoller(registered.queue(), registered.events(), pending, stats);
    LoopThread pollThread = keep(acquired, new LoopThread(name + "-poller", poller::turn));
    ThreadPoolExecutor closer = Workers.pool(name + "-closer", CLOSER_THREADS);
    acquired.push(() -> finish(closer, settings.drainTimeoutMs() + STOP_MARGIN_MS));
    ThreadPoolExecutor prober = Workers.pool(name + "-probe", PROBER_THREADS);
    acquired.push(prober::shutdownNow);
    Connector connector = new Connector(
        settings,
        bound.device(),
        bound.setup(),
        bound.loop(),
        registered.domain(),
        registered.queue(),
        pending,
        registered.buffers(),
        handshake,
        stats);
    ConnectionPool connections = new ConnectionPool(
        settings,
        new ConnectionLimit(connectionLimit(settings, bound.info(), registered.queue())),
        connector,
        bound.loop(),
        closer,
        () -> Deadline.afterMs(pollThread.isAlive() ? settings.drainTimeoutMs() : 0),
        stats);
    acquired.push(() -> connections.close(PeerFailure.CLOSED, "closed here"));
    return new Initiator(pollThread, closer, prober, connections);
  }

  /** Starts the threads, then lets peers in. */
  private static void start(
      TransportSettings settings,
      Bound bound,
      Registered registered,
      Initiator initiator,
      InboundListener listener,
      String name,
      Deque<AutoCloseable> acquired)
      throws IOException {
    ConnectionPool connections = initiator.connections();
    Watchdog watchdog = new Watchdog(
        settings, connections.connections(), connections::isHostAnswering, initiator.prober());
    ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
        body -> Workers.thread(name + "-watchdog", body));
    acquired.push(timer::shutdownNow);
    DeviceEvents deviceEvents = new DeviceEvents(bound.device(), connections, listener);
    keep(acquired, new LoopThread(name + "-async", deviceEvents::turn))
        .start(deviceEvents::threadDied);
    initiator.pollThread().start(deviceEvents::threadDied);
    bound.cmThread().start(deviceEvents::threadDied);
    listener.listen(bound.listenId());
    startTimer(timer, watchdog, listener, connections, registered.buffers());
  }

  private static <T extends AutoCloseable> T keep(Deque<AutoCloseable> acquired, T resource) {
    acquired.push(resource);
    return resource;
  }

  private static LoopThread keep(Deque<AutoCloseable> acquired, LoopThread thread) {
    acquired.push(thread::stop);
    return thread;
  }

  private static DeviceContext deviceOf(
      EventChannel channel,
      ConnectionId bound,
      TransportSettings settings,
      @Nullable String wantedName)
      throws VerbsException, UnusableAddressException {
    DeviceContext device = bound.context();
    if (device == null && settings.bindAddress().getAddress().isLoopbackAddress()) {
      device = loopbackDevice(channel, wantedName);
    }
    if (device == null) {
      throw new UnusableAddressException(settings.bindAddress() + " belongs to no RDMA device"
          + (wantedName == null ? "" : " called " + wantedName)
          + "; bind to a device's own address");
    }
    if (wantedName != null && !wantedName.equals(device.name())) {
      throw new UnusableAddressException(
          settings.bindAddress() + " belongs to device " + device.name() + ", not " + wantedName);
    }
    return device;
  }

  /** rdma_cm binds a loopback address to no device; every device can serve it. */
  private static @Nullable DeviceContext loopbackDevice(
      EventChannel channel, @Nullable String wantedName) throws VerbsException {
    for (DeviceContext device : channel.devices()) {
      if (wantedName == null || wantedName.equals(device.name())) {
        return device;
      }
    }
    return null;
  }

  /**
   * One with an entry for each place in the send queues of as many connections as there may be, or as
   * large as the device gives it.
   */
  private static CompletionQueue createQueue(
      DeviceContext device, TransportSettings settings, DeviceInfo info, CompletionChannel events)
      throws VerbsException {
    long most = Math.min(settings.maxConnections(), info.maxQp());
    int entries = (int) Math.min(most * settings.sendQueueDepth(), info.maxCqe());
    while (true) {
      try {
        return device.createCompletionQueue(entries, events, 0);
      } catch (VerbsException e) {
        if (entries / 2 < settings.sendQueueDepth()) {
          throw e;
        }
        entries /= 2;
      }
    }
  }

  private static int connectionLimit(
      TransportSettings settings, DeviceInfo info, CompletionQueue queue) throws IOException {
    int limit = Math.min(
        Math.min(settings.maxConnections(), info.maxQp()),
        queue.capacity() / settings.sendQueueDepth());
    if (limit == 0) {
      throw new IOException("device " + info.name() + " completes " + queue.capacity()
          + " work requests at most, fewer than a send queue of " + settings.sendQueueDepth());
    }
    if (limit < settings.maxConnections()) {
      LOG.info(
          "Device {} has room for {} connections to peers, not for {} ({})",
          info.name(),
          limit,
          settings.maxConnections(),
          settings.key("maxConnections"));
    }
    return limit;
  }

  private static RdmaEndpoint endpointOf(ConnectionId listenId, Nonce bootNonce)
      throws UnusableAddressException {
    InetSocketAddress local = listenId.localAddress();
    if (local == null) {
      throw new UnusableAddressException("the RDMA listener has no address");
    }
    return new RdmaEndpoint(local.getAddress().getHostAddress(), local.getPort(), bootNonce);
  }

  private static void startTimer(
      ScheduledExecutorService timer,
      Watchdog watchdog,
      InboundListener listener,
      ConnectionPool connections,
      BufferPool buffers) {
    Runnable look = () -> {
      try {
        watchdog.look();
        listener.expirePending();
        connections.forgetUnused(PEER_UNUSED_MS);
        buffers.trim(BUFFER_IDLE_MS);
      } catch (Throwable t) { // one that escaped would end the timer, and with it all deadlines
        LOG.error("The RDMA watchdog failed in one round, and goes on", t);
      }
    };
    ScheduledFuture<?> unused =
        timer.scheduleWithFixedDelay(look, WATCHDOG_MS, WATCHDOG_MS, TimeUnit.MILLISECONDS);
  }

  private static void finish(ThreadPoolExecutor closer, long timeoutMs)
      throws InterruptedException {
    closer.shutdown();
    if (!closer.awaitTermination(timeoutMs, TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException("connections were not destroyed within " + timeoutMs + " ms");
    }
  }

  /** Where peers connect; to be published. */
  public RdmaEndpoint endpoint() {
    return endpoint;
  }

  public DeviceInfo device() {
    return device;
  }

  /**
   * Returns the protection domain. All authenticated peers can read what is registered in it for
   * REMOTE_READ.
   */
  public ProtectionDomain protectionDomain() {
    return domain;
  }

  public BufferPool buffers() {
    return buffers;
  }

  /** Registered beside the buffers, for as long as the transport is open. */
  public int canaryBytes() {
    return Canary.SIZE_BYTES;
  }

  public ConnectionPool connections() {
    return connections;
  }

  public TransportStats stats() {
    return stats;
  }

  public LocalIdentity identity() {
    return identity;
  }

  public TransportSettings settings() {
    return settings;
  }

  public int inboundConnections() {
    return listener.connections();
  }

  /** Asks the device for the attributes in force of the queue pairs that peers connected to. */
  List<QueuePairAttributes> inboundAttributes() throws VerbsException {
    return listener.attributes();
  }

  /** Queue pairs that this side has not destroyed yet, broken ones included. */
  public int outboundConnections() {
    return connections.connections().size();
  }

  /** Gives everything back, in reverse order and in bounded time; what cannot be is logged. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      closeAll(acquired);
    }
  }

  private static void closeAll(Deque<AutoCloseable> acquired) {
    boolean interrupted = false;
    while (!acquired.isEmpty()) {
      AutoCloseable resource = acquired.pop();
      try {
        resource.close();
      } catch (InterruptedException e) {
        interrupted = true;
      } catch (Exception e) {
        LOG.error("RDMA resource {} was not given back", resource, e);
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
