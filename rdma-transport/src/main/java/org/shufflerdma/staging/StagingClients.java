/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.control.ControlLoop;
import org.shufflerdma.metrics.LatencyHistogram;

/** The control connections of this process to its peers, one to each at most. Any thread may call. */
public final class StagingClients implements AutoCloseable {
  /** No task waits for the control port of a peer that was of no use so recently. */
  private static final int LEFT_ALONE_MS = 8_000;

  private final ControlLoop loop;
  private final LocalIdentity identity;
  private final int connectTimeoutMs;
  private final Map<PeerId, StagingClient> clients = new ConcurrentHashMap<>();

  /** Until when peers are left alone that could not be connected to. */
  private final Map<PeerId, Deadline> refused = new ConcurrentHashMap<>();

  /** What an attempt to connect to a peer holds, as long as it lasts. */
  final Map<PeerId, Object> attempts = new ConcurrentHashMap<>();

  private final LatencyHistogram replyTimes = new LatencyHistogram();
  private volatile boolean closed;

  public StagingClients(ControlLoop loop, LocalIdentity identity, TransportSettings settings) {
    this.loop = loop;
    this.identity = identity;
    this.connectTimeoutMs = settings.connectTimeoutMs();
  }

  /** How long owners took to reply to each request. */
  public LatencyHistogram replyTimes() {
    return replyTimes;
  }

  /** Returns the open connection; null if there is none. */
  public @Nullable StagingClient openClient(PeerId peer) {
    return clients.get(peer);
  }

  /**
   * Makes a connection, unless there is one. A peer to which that fails is left alone for a while.
   *
   * @param port at which the peer stages
   */
  public void connect(PeerId peer, int port, Deadline deadline) throws IOException {
    try {
      synchronized (attempts.computeIfAbsent(peer, key -> new Object())) { // one attempt at a time
        connectAlone(peer, port, deadline);
      }
    } finally {
      attempts.remove(peer); // whoever waits for it finds what it has led to
    }
  }

  private void connectAlone(PeerId peer, int port, Deadline deadline) throws IOException {
    if (clients.containsKey(peer)) {
      return;
    }
    refused.values().removeIf(Deadline::expired);
    if (refused.containsKey(peer)) {
      throw new IOException("the control port of " + peer + " was of no use a while ago");
    }
    if (closed || !loop.isAlive()) {
      throw new IOException("no control connection is read any more");
    }
    StagingClient made;
    try {
      made = StagingClient.connect(
          peer,
          port,
          StagingProof.of(identity, peer.executorId()),
          loop,
          this::forget,
          replyTimes,
          deadline.atMostMs(connectTimeoutMs));
    } catch (IOException e) {
      leaveAlone(peer);
      throw e;
    }
    if (clients.putIfAbsent(peer, made) != null) {
      made.close(new IOException("there is another control connection"));
    } else if (!made.isOpen()) {
      forget(made);
    } else if (closed) {
      made.close(new IOException("this end stops"));
    }
  }

  /** Ends a connection that is of no use, and makes none to the peer for a while. */
  public void giveUp(StagingClient client, IOException why) {
    leaveAlone(client.peer());
    client.close(why);
  }

  private void leaveAlone(PeerId peer) {
    refused.put(peer, Deadline.afterMs(LEFT_ALONE_MS));
  }

  private void forget(StagingClient client) {
    if (!client.hasTerms()) {
      leaveAlone(client.peer());
    }
    clients.remove(client.peer(), client);
  }

  @Override
  public void close() {
    closed = true;
    clients.values().forEach(client -> client.close(new IOException("this end stops")));
  }
}
