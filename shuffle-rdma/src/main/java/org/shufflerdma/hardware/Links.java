/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.CmEvent;
import org.shufflerdma.verbs.CmEventType;
import org.shufflerdma.verbs.CompletionQueue;
import org.shufflerdma.verbs.ConnectParameters;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.QueuePair;
import org.shufflerdma.verbs.QueuePairCapabilities;
import org.shufflerdma.verbs.QueuePairLimits;

/**
 * Reliable connections of a device with itself, made by rdma_cm with the plugin's parameters, in one
 * protection domain. Of one thread; closes what it made, in reverse order.
 */
final class Links implements AutoCloseable {
  /** What the plugin connects with. */
  static final int RETRIES = 7;

  private static final int DEPTH = 64;
  private static final int RNR_RETRIES_FOR_EVER = 7;

  private static final int TIMEOUT_MS = 30_000;
  private static final int MAX_RD_ATOMIC_IN_CM = 255;

  private final Deque<AutoCloseable> owned = new ArrayDeque<>();
  private final EventChannel server;
  private final EventChannel client;
  private final ConnectionId listener;
  private final InetSocketAddress address;
  private final DeviceContext device;
  private final DeviceInfo info;
  private final ProtectionDomain domain;
  private final int mtuBytes;
  private final int readsAtOnce;

  /** One connection: who reads, where its completions come, and who is read. */
  record Link(QueuePair reader, CompletionQueue completions, QueuePair served) {}

  private Links(InetAddress local, TransportSettings settings) throws IOException {
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
      mtuBytes = settings.connection().mtuBytes();
      readsAtOnce = Math.min(
          Math.min(MAX_RD_ATOMIC_IN_CM, settings.connection().maxRdAtomic()),
          Math.min(info.maxQpRdAtom(), info.maxQpInitRdAtom()));
    } catch (Throwable t) {
      closeAll();
      throw t;
    }
  }

  static Links open(InetAddress local, TransportSettings settings) throws IOException {
    return new Links(local, settings);
  }

  DeviceInfo info() {
    return info;
  }

  ProtectionDomain domain() {
    return domain;
  }

  int readsAtOnce() {
    return readsAtOnce;
  }

  /**
   * @param retries of a READ that is not answered, 0 to 7
   */
  Link connect(int retries) throws IOException {
    ConnectionId from = own(client.createId());
    from.resolveAddress(new InetSocketAddress(address.getAddress(), 0), address, TIMEOUT_MS);
    await(client, CmEventType.ADDR_RESOLVED).close();
    from.resolveRoute(TIMEOUT_MS);
    await(client, CmEventType.ROUTE_RESOLVED).close();
    CompletionQueue completions = own(device.createCompletionQueue(4 * DEPTH, null, 0));
    QueuePair reader = queuePair(from, completions);
    from.connect(new ConnectParameters(new byte[0], 0, readsAtOnce, retries, RNR_RETRIES_FOR_EVER));
    ConnectionId to;
    QueuePair served;
    try (CmEvent request = await(server, CmEventType.CONNECT_REQUEST)) {
      to = own(request.id());
      served = queuePair(to, own(device.createCompletionQueue(DEPTH, null, 0)));
      served.toReady(new QueuePairLimits(Access.REMOTE_READ, mtuBytes, 0, readsAtOnce));
      to.accept(new ConnectParameters(new byte[0], readsAtOnce, 0, retries, RNR_RETRIES_FOR_EVER));
    }
    await(client, CmEventType.CONNECT_RESPONSE).close();
    reader.toReady(new QueuePairLimits(Access.NONE, mtuBytes, readsAtOnce, 0));
    from.establish();
    await(server, CmEventType.ESTABLISHED).close();
    return new Link(reader, completions, served);
  }

  private QueuePair queuePair(ConnectionId id, CompletionQueue queue) throws IOException {
    return own(
        id.createQueuePair(domain, queue, queue, new QueuePairCapabilities(DEPTH, 1, 1, 1, 0)));
  }

  private static CmEvent await(EventChannel channel, CmEventType wanted) throws IOException {
    CmEvent event = channel.poll(TIMEOUT_MS);
    if (event == null) {
      throw new IOException("no " + wanted + " from rdma_cm within " + TIMEOUT_MS / 1000 + " s");
    }
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
