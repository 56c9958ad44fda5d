/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.control.ProvedClient;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the node services of hosts, and remembers where they accept the connections of this application.
 * Any thread may call.
 */
public final class NodeServices {
  private static final Logger LOG = LoggerFactory.getLogger(NodeServices.class);

  /** A host whose service was of no use so recently is not asked. */
  private static final int LEFT_ALONE_MS = 8_000;

  /** More than a cluster has: the reducers of a job may ask for any name. */
  private static final int MAX_HOSTS = 8192;

  /** A host that has been asked for. Its lock is held for one attempt at a time. */
  private static final class Host {
    volatile @Nullable PeerId service;
    volatile Deadline leftAlone = Deadline.afterMs(0);
    boolean isReported;
  }

  private final LocalIdentity identity;
  private final int port;
  private final int timeoutMs;
  private final Map<String, Host> hosts = new ConcurrentHashMap<>();

  /**
   * @param port of the services on all hosts
   * @param timeoutMs for the answer of one
   */
  public NodeServices(LocalIdentity identity, int port, int timeoutMs) {
    this.identity = identity;
    this.port = port;
    this.timeoutMs = timeoutMs;
  }

  /** Whether {@link #find} would ask the host, and may block for that: its service is neither known nor left alone. */
  public boolean isSearchedFor(String name) {
    Host host = hosts.get(name);
    return host == null || (host.service == null && host.leftAlone.expired());
  }

  /** The service of a host. Blocks its caller, unless it is known, until the deadline at most. */
  public PeerId find(String name, Deadline deadline) throws IOException {
    if (hosts.size() >= MAX_HOSTS && !hosts.containsKey(name)) {
      throw new IOException(
          "the node services of " + MAX_HOSTS + " other hosts have been asked for");
    }
    Host host = hosts.computeIfAbsent(name, key -> new Host());
    synchronized (host) {
      PeerId known = host.service;
      return known == null ? findAlone(name, host, deadline) : known;
    }
  }

  /** Guarded by the host. */
  private PeerId findAlone(String name, Host host, Deadline deadline) throws IOException {
    if (!host.leftAlone.expired()) {
      throw new IOException("the node service of " + name + " was of no use a while ago");
    }
    try {
      PeerId service = new PeerId(PeerId.NODE_SERVICE, ask(name, deadline.atMostMs(timeoutMs)));
      host.service = service;
      LOG.info("The node service of {} has map outputs at {}", name, service.endpoint());
      return service;
    } catch (IOException e) {
      host.leftAlone = Deadline.afterMs(LEFT_ALONE_MS);
      report(name, host, e);
      throw e;
    }
  }

  /** Guarded by the host, of which the log has one such line. */
  private void report(String name, Host host, IOException why) {
    if (!host.isReported) {
      host.isReported = true;
      LOG.info(
          "There is no node service for this application at {}:{}: {}. One to which no executor of it"
              + " has registered, or with another secret, ends the connection",
          name,
          port,
          why.getMessage());
    }
  }

  /** The service cannot be reached where it was; it may have been started anew. */
  public void forget(PeerId service) {
    for (Host host : hosts.values()) {
      if (service.equals(host.service)) {
        host.service = null;
      }
    }
  }

  private RdmaEndpoint ask(String host, Deadline deadline) throws IOException {
    try (ProvedClient service = ProvedClient.connect(
        new InetSocketAddress(host, port),
        LookupMessages.HELLO,
        LookupMessages.nameOf(identity.appId()),
        LookupMessages.proofFor(identity),
        LookupMessages.contextOf(identity.appId()),
        deadline)) {
      return LookupMessages.decodeEndpoint(service.receive(LookupMessages.ENDPOINT_BYTES));
    }
  }
}
