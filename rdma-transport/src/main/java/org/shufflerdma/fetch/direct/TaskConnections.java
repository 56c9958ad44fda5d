/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.Connecting;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.metrics.TcpReason;

/**
 * Gives a task the connections to its peers, and has those made that are not open while the task goes on with other
 * peers. Peers without a connection wait in here and come back when it is their turn. Used by the task's thread alone;
 * any thread tells that an attempt has ended or has become silent.
 */
final class TaskConnections {
  /**
   * The peers to which the task has connections made at a time, those that are silent apart; more might be idle
   * before their turn.
   */
  static final int CONNECTING_AT_ONCE = 8;

  /** Connections that were made and ended before a list was read over them, in a row. */
  private static final int MAX_UNUSED_CONNECTIONS = 8;

  private final FetchContext context;
  private final LeftBlocks left;
  private final ServiceRoute services;
  private final Runnable wake;

  /** The peers of which the task still has something to read, and for which it has asked for a connection. */
  private final Set<PeerBlocks> interesting = new HashSet<>();

  /** The peers to which no connection has been asked for yet. */
  private final Deque<PeerBlocks> unasked = new ArrayDeque<>();

  /** The peers to which a connection is being made. */
  private final Set<PeerBlocks> asked = new HashSet<>();

  /** Of these, those whose attempts have ended, or have become silent, as any thread adds them. */
  private final Queue<PeerBlocks> told = new ConcurrentLinkedQueue<>();

  /** @param wake called when there may be something to do; it must not block */
  TaskConnections(FetchContext context, LeftBlocks left, ServiceRoute services, Runnable wake) {
    this.context = context;
    this.left = left;
    this.services = services;
    this.wake = wake;
  }

  /**
   * Returns the open connection. Where that is null, the peer has either nothing to be read any more, or is kept in
   * here until {@link #takeReady} returns it.
   */
  @Nullable
  Connection to(PeerBlocks peer) throws NoConnectionException {
    if (peer.interest == null) {
      peer.interest = context.connections().interestIn(peer.peer(), peer.tcpAddress);
      interesting.add(peer);
    }
    Connecting attempt = peer.attempt;
    peer.attempt = null;
    Connection connection = context.connections().openConnection(peer.peer(), peer.tcpAddress);
    if (connection != null) { // perhaps of another task, whose attempt was faster
      return connection;
    }
    if (attempt != null) {
      attempt.throwRefusal();
    }
    peer.isInLine = true;
    unasked.add(peer);
    return null;
  }

  /** Whether {@link #askForMore} may have something to do. */
  boolean hasUnasked() {
    return !unasked.isEmpty();
  }

  /** Asks for more connections, as far as the limit allows; attempts to silent peers do not count. */
  void askForMore() {
    long answering = asked.stream().filter(TaskConnections::isAnswering).count();
    while (answering < CONNECTING_AT_ONCE && !unasked.isEmpty()) {
      ask(unasked.remove());
      answering++;
    }
    for (int i = Math.min(unasked.size(), CONNECTING_AT_ONCE); i > 0; i--) {
      PeerBlocks peer = unasked.remove();
      if (context.connections().isOpen(peer.peer())) { // another task was faster
        asked.add(peer);
        told.add(peer);
      } else {
        unasked.add(peer);
      }
    }
  }

  private static boolean isAnswering(PeerBlocks peer) {
    return peer.attempt != null && !peer.attempt.isSilent();
  }

  /** Has a connection made, unless too many have ended before they were used. */
  private void ask(PeerBlocks peer) {
    asked.add(peer);
    peer.tryFrom(System.nanoTime());
    if (++peer.connections > MAX_UNUSED_CONNECTIONS) {
      IOException why =
          new IOException("connections to " + peer.peer() + " ended before they were used");
      if (!services.mayServe(peer, TcpReason.CONNECTION_LOST, why)) {
        left.addAll(peer, TcpReason.CONNECTION_LOST, why);
      }
      told.add(peer);
      return;
    }
    try {
      peer.placeBy = context.progressDeadline();
      Connecting attempt = context.connections().begin(peer.peer(), peer.tcpAddress, peer.placeBy);
      peer.attempt = attempt;
      attempt.watch(() -> {
        told.add(peer);
        wake.run();
      });
    } catch (NoConnectionException e) {
      left.addAll(peer, e.failure().tcpReason(), e);
      told.add(peer);
    }
  }

  /** Leaves the peers for whose connection there was no place in time. Other tasks that share the attempt may wait for longer. */
  void leaveOverdue() {
    for (PeerBlocks peer : List.copyOf(asked)) {
      Connecting attempt = peer.attempt;
      if (attempt != null && attempt.isWaitingForPlace() && peer.placeBy.expired()) {
        asked.remove(peer);
        peer.attempt = null;
        peer.isInLine = false;
        left.addAll(
            peer,
            TcpReason.RESOURCES,
            new IOException("there was no place for a connection to " + peer.peer() + " in time"));
        endInterestIfDone(peer);
      }
    }
  }

  /** Whether {@link #takeReady} may find something. */
  boolean isTold() {
    return !told.isEmpty();
  }

  /** Takes out the peers whose turn it is again. */
  List<PeerBlocks> takeReady() {
    if (told.isEmpty()) {
      return List.of();
    }
    List<PeerBlocks> ready = new ArrayList<>();
    PeerBlocks peer;
    while ((peer = told.poll()) != null) {
      Connecting attempt = peer.attempt;
      if ((attempt == null || attempt.hasEnded()) && asked.remove(peer)) {
        ready.add(peer);
      }
    }
    return ready;
  }

  /** Takes out all peers, which nobody connects to any more. */
  List<PeerBlocks> takeAll() {
    List<PeerBlocks> all = new ArrayList<>(asked);
    all.addAll(unasked);
    asked.clear();
    unasked.clear();
    told.clear();
    return all;
  }

  /** Whether peers wait in here for a connection. */
  boolean hasWaiting() {
    return !asked.isEmpty() || !unasked.isEmpty();
  }

  /** Lets the connection to the peer give way to others if the task has nothing more to read there. */
  void endInterestIfDone(PeerBlocks peer) {
    if (peer.isDone()) {
      peer.endInterest();
      interesting.remove(peer);
    }
  }

  /** The task needs no connections, for now at least. */
  void end() {
    interesting.forEach(PeerBlocks::endInterest);
    interesting.clear();
  }
}
