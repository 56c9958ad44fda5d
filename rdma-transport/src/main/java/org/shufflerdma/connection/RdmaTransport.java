/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.memory.BufferPool;
import org.shufflerdma.metrics.PhaseTimer;
import org.shufflerdma.verbs.DeviceInfo;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.QueuePairAttributes;
import org.shufflerdma.verbs.VerbsException;

/**
 * Everything that a process needs for RDMA, from the device to the listener. Peers read what is
 * registered in its protection domain, and it reads from them over the connections of its pool.
 * Whoever opened it closes it, after having deregistered what was registered in the domain. Any
 * thread may call.
 */
public final class RdmaTransport implements AutoCloseable {
  private final TransportSettings settings;
  private final LocalIdentity identity;
  private final DeviceInfo device;
  private final RdmaEndpoint endpoint;
  private final ProtectionDomain domain;
  private final BufferPool buffers;
  private final ConnectionPool connections;
  private final CompletionPoller poller;
  private final InboundListener listener;
  private final TransportStats stats;
  private final Acquired acquired;

  RdmaTransport(
      TransportSettings settings,
      LocalIdentity identity,
      DeviceInfo device,
      RdmaEndpoint endpoint,
      ProtectionDomain domain,
      BufferPool buffers,
      ConnectionPool connections,
      CompletionPoller poller,
      InboundListener listener,
      TransportStats stats,
      Acquired acquired) {
    this.settings = settings;
    this.identity = identity;
    this.device = device;
    this.endpoint = endpoint;
    this.domain = domain;
    this.buffers = buffers;
    this.connections = connections;
    this.poller = poller;
    this.listener = listener;
    this.stats = stats;
    this.acquired = acquired;
  }

  /**
   * Opens the device that the bind address belongs to. A loopback address belongs to no device, and
   * stands for the first one with the wanted name. The verbs must be open.
   *
   * @param deviceName the name that the device must have; null takes any
   */
  public static RdmaTransport open(
      TransportSettings settings, @Nullable String deviceName, LocalIdentity identity)
      throws IOException {
    return open(settings, deviceName, identity, new PhaseTimer());
  }

  /**
   * Does the same.
   *
   * @param timer is told of the phases
   */
  public static RdmaTransport open(
      TransportSettings settings,
      @Nullable String deviceName,
      LocalIdentity identity,
      PhaseTimer timer)
      throws IOException {
    Acquired acquired = new Acquired();
    try {
      return new TransportOpener(settings, identity, timer, acquired).open(deviceName);
    } catch (Throwable t) {
      acquired.close();
      throw t;
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

  /** Takes the completions of what is posted over the connections. */
  public CompletionPoller poller() {
    return poller;
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

  /**
   * Has peers that connect from now on learn where this process stages map outputs.
   *
   * @param port of TCP at the address of {@link #endpoint}; 0 for nowhere
   */
  public void tellStagingPort(int port) {
    listener.tellStagingPort(port);
  }

  /**
   * Whether it serves nobody any more, because its device has failed or one of its threads has died. It
   * remains its owner's, who closes it.
   */
  public boolean hasEnded() {
    return connections.isClosed();
  }

  public int inboundConnections() {
    return listener.connections();
  }

  /** Asks the device for the attributes in force of the queue pairs that peers connected to. */
  List<QueuePairAttributes> inboundAttributes() throws VerbsException {
    return listener.attributes();
  }

  /** The completions for which there is room now; it grows with the connections to peers. */
  public int completionQueueEntries() {
    return connections.room().queue().capacity();
  }

  /**
   * Returns how many bytes the queues of all connections take on a device like mlx5, in both directions. No verb tells what
   * this device takes.
   */
  public long queueBytes() {
    return connections.room().queueBytes()
        + QueueBytes.ofSystem().ofInbound(listener.connections());
  }

  /** Queue pairs that this side has not destroyed yet, broken ones included. */
  public int outboundConnections() {
    return connections.connections().size();
  }

  /** Gives everything back, in reverse order and in bounded time; what cannot be is logged. */
  @Override
  public void close() {
    acquired.close();
  }
}
