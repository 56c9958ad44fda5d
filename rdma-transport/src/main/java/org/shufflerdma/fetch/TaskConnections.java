/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.PeerFailure;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.metrics.TcpReason;

/**
 * Gives a task the connections to its peers, and has workers make those that are not open, so that the
 * task goes on with other peers meanwhile. Used by the task's thread alone, but for the workers, who do
 * nothing but connect.
 */
final class TaskConnections {
  /** The peers to which the task has connections made at a time; more might be idle before their turn. */
  private static final int CONNECTING_AT_ONCE = 4;

  /** Connections that were made and ended before a list was read over them, in a row. */
  private static final int MAX_UNUSED_CONNECTIONS = 8;

  private static final int NONE = -1;

  private final FetchContext context;
  private final LeftBlocks left;
  private final ServiceRoute services;
  private final BooleanSupplier hasEnded;
  private final Runnable wake;
  private final AtomicInteger connecting = new AtomicInteger();

  /** The peers of which the task still has something to read, and for which it has asked for a connection. */
  private final Set<PeerBlocks> interesting = new HashSet<>();

  /** The task's channel, or NONE while it needs none. */
  private int channel = NONE;

  /**
   * @param hasEnded whether the task needs no connection any more; any thread may call it
   * @param wake called when an attempt to connect has ended; it must not block
   */
  TaskConnections(
      FetchContext context,
      LeftBlocks left,
      ServiceRoute services,
      BooleanSupplier hasEnded,
      Runnable wake) {
    this.context = context;
    this.left = left;
    this.services = services;
    this.hasEnded = hasEnded;
    this.wake = wake;
  }

  /** Returns the open connection, or has a worker make one and returns null. */
  @Nullable
  Connection to(PeerBlocks peer) throws NoConnectionException {
    if (peer.interest == null) {
      peer.interest = context.connections().interestIn(peer.peer(), peer.tcpAddress);
      interesting.add(peer);
    }
    ConnectAttempt attempt = peer.attempt;
    // Looked at first: the pool has what an attempt that has ended by now has made.
    boolean isUnderWay = attempt != null && !attempt.hasEnded();
    Connection connection =
        context.connections().openConnection(peer.peer(), channel(), peer.tcpAddress);
    if (connection == null && isUnderWay) {
      return null;
    }
    peer.attempt = null; // where another task was faster, nobody waits for this one any more
    if (connection != null) {
      askForFurther(peer);
      return connection;
    }
    if (attempt != null) {
      attempt.throwRefusal();
    }
    if (connecting.get() < CONNECTING_AT_ONCE) {
      begin(peer);
    }
    return null;
  }

  /** Has a worker connect, unless too many connections have ended before they were used. */
  private void begin(PeerBlocks peer) {
    peer.tryFrom(System.nanoTime());
    if (++peer.connections > MAX_UNUSED_CONNECTIONS) {
      IOException why =
          new IOException("connections to " + peer.peer() + " ended before they were used");
      if (!services.mayServe(peer, TcpReason.CONNECTION_LOST, why)) {
        left.addAll(peer, TcpReason.CONNECTION_LOST, why);
      }
      return;
    }
    ConnectAttempt attempt = new ConnectAttempt(context.progressDeadline());
    peer.attempt = attempt;
    connecting.incrementAndGet();
    PeerId to = peer.peer();
    context.connects().execute(to, () -> connect(to, peer.tcpAddress, attempt));
  }

  /** Has a worker make the task's own connection to the peer beside the first one, once. */
  private void askForFurther(PeerBlocks peer) {
    if (peer.furtherWanted) {
      return;
    }
    peer.furtherWanted = true;
    int ofTask = channel();
    if (context.connections().beginFurther(peer.peer(), ofTask, peer.tcpAddress)) {
      PeerId of = peer.peer();
      context.connects().execute(of, () -> connectFurther(of, peer.tcpAddress, ofTask));
    }
  }

  private int channel() {
    if (channel == NONE) {
      channel = context.channels().take();
    }
    return channel;
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
    if (channel != NONE) {
      context.channels().giveBack(channel);
      channel = NONE;
    }
  }

  /** Runs in a worker. */
  private void connectFurther(PeerId peer, @Nullable InetSocketAddress tcpAddress, int ofTask) {
    try {
      context
          .connections()
          .connectFurther(
              peer,
              ofTask,
              tcpAddress,
              () -> hasEnded.getAsBoolean() || context.closed().getAsBoolean(),
              context.progressDeadline());
    } catch (InterruptedException e) { // the fetcher is being closed
      Thread.currentThread().interrupt();
    }
  }

  /** Runs in a worker. */
  private void connect(
      PeerId peer, @Nullable InetSocketAddress tcpAddress, ConnectAttempt attempt) {
    Throwable refusal = null;
    try {
      if (!hasEnded.getAsBoolean() && !context.closed().getAsBoolean()) {
        connectInTime(peer, tcpAddress, attempt.beginBy);
      }
    } catch (InterruptedException e) { // the fetcher is being closed, which the task sees by itself
      Thread.currentThread().interrupt();
    } catch (Throwable t) {
      refusal = t;
    } finally {
      connecting.decrementAndGet();
      attempt.end(refusal);
      wake.run();
    }
  }

  /** Only an attempt that has begun may count against the peer, and it has its whole time. */
  private void connectInTime(PeerId peer, @Nullable InetSocketAddress tcpAddress, Deadline beginBy)
      throws NoConnectionException, InterruptedException {
    if (beginBy.expired()) {
      throw new NoConnectionException(
          peer, PeerFailure.RESOURCES, "other attempts to connect have kept all workers busy");
    }
    context.connections().connect(peer, tcpAddress, hasEnded, context.progressDeadline());
  }
}
