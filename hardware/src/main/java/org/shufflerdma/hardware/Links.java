/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.connection.QueuePairSetup;
import org.shufflerdma.verbs.CmEvent;
import org.shufflerdma.verbs.CmEventType;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.QueuePair;
import org.shufflerdma.verbs.QueuePairAttributes;
import org.shufflerdma.verbs.QueuePairCapabilities;

/**
 * Reliable connections of a device with itself and with that of another process, made as the plugin
 * makes its own, in one protection domain. One thread uses it. It closes what it made, in reverse
 * order.
 */
final class Links implements AutoCloseable {
  private static final int DEPTH = 64;

  private static final int TIMEOUT_MS = 30_000;

  private static final Set<CmEventType> ENDS =
      Set.of(CmEventType.DISCONNECTED, CmEventType.TIMEWAIT_EXIT);

  private final Deque<AutoCloseable> owned = new ArrayDeque<>();
  private final EventChannel server;
  private final EventChannel client;
  private final ConnectionId listener;
  private final InetSocketAddress address;
  private final DeviceContext device;
  private final DeviceInfo info;
  private final ProtectionDomain domain;

  /** The end of a connection that reads, and the queue of its completions. */
  record Link(QueuePair reader, CompletionQueue completions, QueuePairAttributes attributes) {}

  /** A connection of the device with itself, and the end of it that is read. */
  record OwnLink(Link link, QueuePair served) {}

  /** A connection that has been requested and not yet answered. */
  private record Requested(
      ConnectionId id, QueuePair reader, CompletionQueue completions, QueuePairSetup setup) {}

  Links(InetAddress local) throws IOException {
    try {
      server = own(EventChannel.open());
      client = own(EventChannel.open());
      listener = own(server.createId());
      listener.bind(new InetSocketAddress(local, 0));
      listener.listen(8);
      address = present(listener.localAddress(), "the listener has no address");
      DeviceContext bound = listener.context();
      device = bound == null ? server.devices().get(0) : bound;
      info = device.query();
      domain = own(device.allocProtectionDomain());
    } catch (Throwable t) {
      closeAll();
      throw t;
    }
  }

  DeviceInfo info() {
    return info;
  }

  ProtectionDomain domain() {
    return domain;
  }

  /** Where the links of another process connect to. */
  InetSocketAddress address() {
    return address;
  }

  /** Makes a connection of the device with itself. */
  OwnLink connect(ConnectionSettings settings) throws IOException {
    return connectTo(this, settings);
  }

  /** Makes a connection to other links of this process. */
  OwnLink connectTo(Links other, ConnectionSettings settings) throws IOException {
    Requested requested = request(other.address, settings);
    QueuePair served = other.answer(settings);
    Link link = establish(requested);
    await(other.server, CmEventType.ESTABLISHED).close();
    return new OwnLink(link, served);
  }

  /** Makes a connection to the links of another process, which accepts it. */
  Link connectTo(InetSocketAddress peer, ConnectionSettings settings) throws IOException {
    return establish(request(peer, settings));
  }

  /** Accepts a connection of another process, whose READs it will answer. */
  void accept(ConnectionSettings settings) throws IOException {
    answer(settings);
    await(server, CmEventType.ESTABLISHED).close();
  }

  private Requested request(InetSocketAddress peer, ConnectionSettings settings)
      throws IOException {
    QueuePairSetup setup = new QueuePairSetup(settings, info);
    ConnectionId from = own(client.createId());
    from.resolveAddress(new InetSocketAddress(address.getAddress(), 0), peer, TIMEOUT_MS);
    await(client, CmEventType.ADDR_RESOLVED).close();
    setup.prepare(from);
    from.resolveRoute(TIMEOUT_MS);
    await(client, CmEventType.ROUTE_RESOLVED).close();
    CompletionQueue completions = own(device.createCompletionQueue(4 * DEPTH, null, 0));
    QueuePair reader = queuePair(from, completions);
    from.connect(setup.request(new byte[0]));
    return new Requested(from, reader, completions, setup);
  }

  private QueuePair answer(ConnectionSettings settings) throws IOException {
    QueuePairSetup setup = new QueuePairSetup(settings, info);
    try (CmEvent request = nextRequest()) {
      ConnectionId to = own(request.id());
      setup.prepare(to);
      QueuePair served = queuePair(to, own(device.createCompletionQueue(DEPTH, null, 0)));
      setup.responderReady(served);
      to.accept(setup.answer(new byte[0], request.responderResources()));
      return served;
    }
  }

  /** Earlier connections may have ended meanwhile. */
  private CmEvent nextRequest() throws IOException {
    while (true) {
      CmEvent event =
          present(server.poll(TIMEOUT_MS), "no request came within " + TIMEOUT_MS / 1000 + " s");
      if (event.type() == CmEventType.CONNECT_REQUEST) {
        return event;
      }
      event.close();
      if (!ENDS.contains(event.type())) {
        throw new IOException("rdma_cm tells " + event + ", not of a request");
      }
    }
  }

  private Link establish(Requested requested) throws IOException {
    await(client, CmEventType.CONNECT_RESPONSE).close();
    QueuePairAttributes attributes = requested.setup().initiatorReady(requested.reader());
    requested.id().establish();
    return new Link(requested.reader(), requested.completions(), attributes);
  }

  private QueuePair queuePair(ConnectionId id, CompletionQueue queue) throws IOException {
    return own(
        id.createQueuePair(domain, queue, queue, new QueuePairCapabilities(DEPTH, 1, 1, 1, 0)));
  }

  private static CmEvent await(EventChannel channel, CmEventType wanted) throws IOException {
    CmEvent event = present(
        channel.poll(TIMEOUT_MS),
        "no " + wanted + " from rdma_cm within " + TIMEOUT_MS / 1000 + " s");
    if (event.type() != wanted) {
      event.close();
      throw new IOException("rdma_cm tells " + event + ", not " + wanted);
    }
    return event;
  }

  private static <T> T present(@Nullable T value, String otherwise) throws IOException {
    if (value == null) {
      throw new IOException(otherwise);
    }
    return value;
  }

  private <T extends AutoCloseable> T own(T resource) {
    owned.push(resource);
    return resource;
  }

  private void closeAll() throws IOException {
    IOException failure = null;
    while (!owned.isEmpty()) {
      try {
        owned.pop().close();
      } catch (Exception e) {
        IOException next = new IOException("not given back: " + e.getMessage(), e);
        if (failure == null) {
          failure = next;
        } else {
          failure.addSuppressed(next);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  @Override
  public void close() throws IOException {
    closeAll();
  }
}
