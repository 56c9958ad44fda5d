/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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

  private final LocalIdentity identity;
  private final int port;
  private final int timeoutMs;
  private final Map<String, PeerId> found = new ConcurrentHashMap<>();
  private final Map<String, Deadline> leftAlone = new ConcurrentHashMap<>();
  private final Map<String, Object> attempts = new ConcurrentHashMap<>();

  /**
   * @param port of the services on all hosts
   * @param timeoutMs for the answer of one
   */
  public NodeServices(LocalIdentity identity, int port, int timeoutMs) {
    this.identity = identity;
    this.port = port;
    this.timeoutMs = timeoutMs;
  }

  /** The service of a host. Blocks its caller, unless it is known, until the deadline at most. */
  public PeerId find(String host, Deadline deadline) throws IOException {
    try {
      synchronized (attempts.computeIfAbsent(host, key -> new Object())) { // one attempt at a time
        return findAlone(host, deadline);
      }
    } finally {
      attempts.remove(host); // whoever waits for it finds what it has led to
    }
  }

  private PeerId findAlone(String host, Deadline deadline) throws IOException {
    PeerId known = found.get(host);
    if (known != null) {
      return known;
    }
    leftAlone.values().removeIf(Deadline::expired);
    if (leftAlone.containsKey(host)) {
      throw new IOException("the node service of " + host + " was of no use a while ago");
    }
    try {
      PeerId service = new PeerId(PeerId.NODE_SERVICE, ask(host, deadline.atMostMs(timeoutMs)));
      found.put(host, service);
      LOG.info("The node service of {} has map outputs at {}", host, service.endpoint());
      return service;
    } catch (IOException e) {
      leftAlone.put(host, Deadline.afterMs(LEFT_ALONE_MS));
      LOG.info(
          "There is no node service for this application at {}:{}: {}. One to which no executor of it"
              + " has registered, or with another secret, ends the connection",
          host,
          port,
          e.getMessage());
      throw e;
    }
  }

  /** The service cannot be reached where it was; it may have been started anew. */
  public void forget(PeerId service) {
    found.values().removeIf(service::equals);
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
