/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.Ended;
import org.shufflerdma.concurrent.LoopThread;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.memory.BufferPool;
import org.shufflerdma.metrics.PhaseTimer;
import org.shufflerdma.verbs.CompletionChannel;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens a transport: acquires what it needs step by step, from the device to the listener, and puts
 * the parts together. What it has acquired belongs to its caller, also if a step fails.
 */
record TransportOpener(
    TransportSettings settings, LocalIdentity identity, PhaseTimer phases, Acquired acquired) {
  private static final Logger LOG = LoggerFactory.getLogger(TransportOpener.class);
  private static final int IDLE_QUEUE_ENTRIES = 16;
  private static final int CLOSER_THREADS = 2;

  /** They never wait for a peer. */
  private static final int CONNECT_THREADS = 4;

  private static final int PROBER_THREADS = 8;

  /** They ask the hosts of peers that do not answer attempts to connect, which may be a whole rack. */
  private static final int LOST_PROBER_THREADS = 32;

  private static final int WATCHDOG_MS = 1_000;
  private static final int PEER_UNUSED_MS = 600_000;
  private static final int STOP_MARGIN_MS = 3_000;

  RdmaTransport open(@Nullable String deviceName) throws IOException {
    String name = "rdma-" + identity.executorId();
    Nonce bootNonce = Nonce.random();
    Handshake handshake = new Handshake(identity);
    TransportStats stats = new TransportStats();

    // The device, and the connection manager's id that is bound to it and will listen.
    EventChannel channel = acquired.keep(EventChannel.open());
    CmEventLoop loop = new CmEventLoop(channel);
    LoopThread cmThread = new LoopThread(name + "-cm", loop::turn);
    acquired.keep(cmThread::stop);
    ConnectionId listenId = acquired.keep(channel.createId());
    listenId.bind(settings.bindAddress());
    DeviceContext device = deviceOf(channel, listenId, deviceName);
    DeviceInfo info = device.query();
    QueuePairSetup setup = new QueuePairSetup(settings.connection(), info);
    phases.ended("device");

    // The protection domain with its queues, and with what is registered in it from the start.
    ProtectionDomain domain = acquired.keep(device.allocProtectionDomain());
    CompletionChannel events = acquired.keep(device.createCompletionChannel());
    CompletionRoom room = CompletionRoom.create(device, info, events, settings, acquired);
    CompletionQueue queue = room.queue();
    logLimit(info, room.connections());
    CompletionQueue idleQueue =
        acquired.keep(device.createCompletionQueue(IDLE_QUEUE_ENTRIES, null, 0));
    phases.ended("queues");
    Canary canary = acquired.keep(Canary.open(domain, bootNonce));
    phases.ended("canary");
    BufferPool buffers = acquired.keep(new BufferPool(domain, settings.pool()));
    phases.ended("buffers");

    // The side that connects to peers and reads from them.
    PendingReads pending = new PendingReads();
    CompletionPoller poller = new CompletionPoller(queue, events, pending, stats);
    acquired.keep(poller::close);
    LoopThread pollThread = new LoopThread(name + "-poller", poller::turn);
    acquired.keep(pollThread::stop);
    ThreadPoolExecutor closer = Workers.pool(name + "-closer", CLOSER_THREADS);
    acquired.keep(() -> finish(closer, settings.drainTimeoutMs() + STOP_MARGIN_MS));
    ThreadPoolExecutor connects =
        Workers.pool(name + "-connect", Math.min(CONNECT_THREADS, settings.maxConnections()));
    acquired.keep(() -> finish(connects, STOP_MARGIN_MS));
    ThreadPoolExecutor prober =
        Workers.pool(name + "-probe", Math.min(PROBER_THREADS, settings.maxConnections()));
    acquired.keep(prober::shutdownNow);
    ThreadPoolExecutor hostProber = Workers.poolOnDemand(name + "-lost", LOST_PROBER_THREADS);
    acquired.keep(hostProber::shutdownNow);
    ScheduledExecutorService timer =
        Executors.newSingleThreadScheduledExecutor(body -> Workers.thread(name + "-timer", body));
    acquired.keep(timer::shutdownNow);
    AnswerTime answerTime = new AnswerTime();
    ConnectionLimit limit = new ConnectionLimit(room.connections(), answerTime);
    Connector connector = new Connector(
        settings,
        device,
        setup,
        loop,
        domain,
        room,
        pending,
        poller,
        buffers,
        handshake,
        answerTime,
        connects,
        stats);
    ConnectionPool connections = new ConnectionPool(
        settings,
        limit,
        connector,
        closer,
        hostProber,
        timer,
        () -> Deadline.afterMs(pollThread.isAlive() ? settings.drainTimeoutMs() : 0),
        stats);
    acquired.keep(() -> connections.close(PeerFailure.CLOSED, "this transport is closed"));

    // The side that peers connect to.
    InboundListener listener = new InboundListener(
        settings, identity, bootNonce, handshake, canary, domain, idleQueue, setup, loop, closer,
        stats);
    acquired.keep(listener::close);

    // All threads start before peers are let in.
    Watchdog watchdog = new Watchdog(
        settings, connections.connections(), connection -> !connection.state().isLost(), prober);
    TransportEnd end = new TransportEnd(connections, listener, queue, idleQueue);
    acquired.keep(DeviceEvents.subscribe(device, end));
    pollThread.start(end::threadDied);
    cmThread.start(end::threadDied);
    listener.listen(listenId);
    startTimer(timer, watchdog, listener, connections, buffers);

    phases.ended("threads");

    RdmaEndpoint endpoint = endpointOf(listenId, bootNonce);
    LOG.info("RDMA listens at {} on device {}", endpoint, info.name());
    return new RdmaTransport(
        settings,
        identity,
        info,
        endpoint,
        domain,
        buffers,
        connections,
        poller,
        listener,
        stats,
        acquired);
  }

  private DeviceContext deviceOf(
      EventChannel channel, ConnectionId bound, @Nullable String wantedName)
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

  private void logLimit(DeviceInfo info, int limit) {
    if (limit < settings.maxConnections()) {
      LOG.info(
          "Device {} has room for {} connections to peers, not for {} ({})",
          info.name(),
          limit,
          settings.maxConnections(),
          settings.key("maxConnections"));
    }
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
        buffers.trim();
      } catch (Throwable t) { // one that escaped would end the timer, and with it all deadlines
        LOG.error("The RDMA watchdog failed in one round and continues", t);
      }
    };
    ScheduledFuture<?> unused =
        timer.scheduleWithFixedDelay(look, WATCHDOG_MS, WATCHDOG_MS, TimeUnit.MILLISECONDS);
  }

  private static void finish(ThreadPoolExecutor workers, long timeoutMs)
      throws InterruptedException {
    workers.shutdown();
    Ended.await(
        "the work on connections",
        timeoutMs,
        ms -> workers.awaitTermination(ms, TimeUnit.MILLISECONDS));
  }
}
