/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.metrics.TcpReason;

/**
 * Gives a task the connections to its peers, and has workers make those that are not open, so that the
 * task goes on with other peers meanwhile. Used by the task's thread alone, but for the workers.
 */
final class TaskConnections {
  /** The peers to which the task has connections made at a time; more might be idle before their turn. */
  private static final int CONNECTING_AT_ONCE = 4;

  /** Connections that were made and ended before a list was read over them, in a row. */
  private static final int MAX_UNUSED_CONNECTIONS = 8;

  private static final int NONE = -1;

  private final FetchContext context;
  private final LeftBlocks left;
  private final BooleanSupplier hasEnded;
  private final Runnable wake;
  private final AtomicInteger connecting = new AtomicInteger();

  /** The task's channel, or NONE while it needs none. */
  private int channel = NONE;

  /**
   * @param hasEnded whether the task needs no connection any more; any thread may call it
   * @param wake called when an attempt to connect has ended; it must not block
   */
  TaskConnections(FetchContext context, LeftBlocks left, BooleanSupplier hasEnded, Runnable wake) {
    this.context = context;
    this.left = left;
    this.hasEnded = hasEnded;
    this.wake = wake;
  }

  /** Returns the open connection, or has a worker make one and returns null. */
  @Nullable
  Connection to(PeerBlocks peer) throws NoConnectionException {
    if (peer.connecting) {
      return null;
    }
    Throwable refusal = peer.refusal;
    if (refusal != null) {
      peer.refusal = null;
      if (refusal instanceof NoConnectionException known) {
        throw known;
      }
      throw new IllegalStateException("the attempt to connect failed unexpectedly", refusal);
    }
    Connection connection =
        context.connections().openConnection(peer.peer, channel(), peer.tcpAddress);
    if (connection == null && connecting.get() < CONNECTING_AT_ONCE) {
      if (++peer.connections > MAX_UNUSED_CONNECTIONS) {
        left.addAll(
            peer,
            TcpReason.CONNECTION_LOST,
            new IOException("connections to " + peer.peer + " ended before they were used"));
        return null;
      }
      peer.connecting = true;
      connecting.incrementAndGet();
      context.lanes().execute(peer.peer, () -> connect(peer));
    }
    if (connection != null && !peer.furtherWanted) {
      peer.furtherWanted = true;
      int ofTask = channel;
      if (context.connections().beginFurther(peer.peer, ofTask, peer.tcpAddress)) {
        context.lanes().execute(peer.peer, () -> connectFurther(peer, ofTask));
      }
    }
    return connection;
  }

  private int channel() {
    if (channel == NONE) {
      channel = context.channels().take();
    }
    return channel;
  }

  /** The task needs no connections, for now at least. */
  void end() {
    if (channel != NONE) {
      context.channels().giveBack(channel);
      channel = NONE;
    }
  }

  /** Runs in a worker. */
  private void connectFurther(PeerBlocks peer, int ofTask) {
    try {
      context
          .connections()
          .connectFurther(
              peer.peer,
              ofTask,
              peer.tcpAddress,
              () -> hasEnded.getAsBoolean() || context.closed().getAsBoolean(),
              context.progressDeadline());
    } catch (InterruptedException e) { // the fetcher is being closed
      Thread.currentThread().interrupt();
    }
  }

  /** Runs in a worker. */
  private void connect(PeerBlocks peer) {
    try {
      if (!hasEnded.getAsBoolean() && !context.closed().getAsBoolean()) {
        context
            .connections()
            .connect(peer.peer, peer.tcpAddress, hasEnded, context.progressDeadline());
      }
    } catch (InterruptedException e) { // the fetcher is being closed, which the task sees by itself
      Thread.currentThread().interrupt();
    } catch (Throwable t) {
      peer.refusal = t;
    } finally {
      connecting.decrementAndGet();
      peer.connecting = false;
      wake.run();
    }
  }
}
