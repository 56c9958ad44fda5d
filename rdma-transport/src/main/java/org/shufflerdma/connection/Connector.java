/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.net.InetSocketAddress;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.shufflerdma.memory.BufferPool;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.DeviceContext;
import org.shufflerdma.verbs.ProtectionDomain;
import org.shufflerdma.verbs.VerbsException;

/**
 * What all {@link Dial}s of a transport share.
 *
 * @param workers run the steps, none of which waits for a peer; a step that they refuse, as they have been shut down,
 *     is run by its caller
 */
record Connector(
    TransportSettings settings,
    DeviceContext device,
    QueuePairSetup setup,
    CmEventLoop loop,
    ProtectionDomain domain,
    CompletionRoom room,
    PendingReads pending,
    CompletionPoller poller,
    BufferPool buffers,
    Handshake handshake,
    AnswerTime answerTime,
    Executor workers,
    TransportStats stats) {
  /** False if the workers have been shut down. */
  boolean tryWork(Runnable step) {
    try {
      workers.execute(step);
      return true;
    } catch (RejectedExecutionException e) {
      return false;
    }
  }

  void work(Runnable step) {
    if (!tryWork(step)) {
      step.run();
    }
  }

  boolean isOfDevice(ConnectionId id) throws VerbsException {
    return device.equals(id.context());
  }

  void resolveAddress(ConnectionId id, PeerId peer, int timeoutMs) throws VerbsException {
    InetSocketAddress destination =
        new InetSocketAddress(peer.endpoint().host(), peer.endpoint().port());
    InetSocketAddress source = new InetSocketAddress(settings.bindAddress().getAddress(), 0);
    id.resolveAddress(source, destination, timeoutMs);
  }

  ReadQueuePair createQueuePair(ConnectionId id) throws VerbsException {
    ReadQueuePair created = ReadQueuePair.create(id, domain, room, poller);
    stats.queuePairsCreated.increment();
    return created;
  }

  /** The ends are its owner's from here on. */
  Connection connection(
      PeerState state, ConnectionId id, ReadQueuePair queuePair, Consumer<Connection> whenBroken) {
    return new Connection(state, id, queuePair, pending, poller, stats, whenBroken, settings);
  }
}
