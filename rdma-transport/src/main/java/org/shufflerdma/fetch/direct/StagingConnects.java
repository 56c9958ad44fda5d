/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.staging.StagingClient;
import org.shufflerdma.staging.StagingClients;

/**
 * Gives a task the control connections over which it asks owners to stage blocks, and has those made that are not open. Used by the task's
 * thread alone, but for the workers, who connect.
 *
 * @param hasEnded whether the task needs no connection any more; any thread may call it
 * @param wake called when an attempt to connect has ended; it must not block
 */
record StagingConnects(
    FetchContext context,
    LeftBlocks left,
    ServiceRoute services,
    BooleanSupplier hasEnded,
    Runnable wake) {
  /** Control connections to a peer that were asked for, or ended, before a block was read, in a row. */
  private static final int MAX_CONTROL_CONNECTIONS = 16;

  /** The control connection to the peer; or a worker makes one, and this returns null. */
  @Nullable
  StagingClient clientOf(PeerBlocks peer, Connection connection) {
    CompletableFuture<@Nullable Throwable> attempt = peer.controlAttempt;
    boolean isUnderWay = attempt != null && !attempt.isDone();
    StagingClients clients = context.staging();
    StagingClient client = clients == null ? null : clients.openClient(peer.peer());
    if (client == null && isUnderWay) {
      return null;
    }
    peer.controlAttempt = null; // where another task was faster, nobody waits for this one any more
    if (client != null) {
      return client;
    }
    Throwable refusal = attempt == null ? null : attempt.join();
    int port = connection.stagingPort(); // another handshake with the peer may change it
    if (refusal != null) {
      leaveAllToStage(peer, refusal);
    } else if (clients == null || port == 0) {
      left.addAllToStage(
          peer, TcpReason.STAGING, new IOException(peer.peer() + " does not stage map outputs"));
    } else if (!countConnection(peer)) {
      left.addAllToStage(
          peer,
          TcpReason.STAGING,
          new IOException(
              "control connections to " + peer.peer() + " ended before they were used"));
    } else {
      CompletableFuture<@Nullable Throwable> made = new CompletableFuture<>();
      Deadline beginBy = context.progressDeadline();
      peer.controlAttempt = made;
      context
          .connects()
          .execute(peer.peer(), () -> connect(clients, connection, port, made, beginBy));
    }
    return null;
  }

  /** Counts one more control connection that was asked for, or has ended. False if there have been too many. */
  boolean countConnection(PeerBlocks peer) {
    return ++peer.controlConnections <= MAX_CONTROL_CONNECTIONS;
  }

  /** Gives up a control connection that is of no use, so that other tasks need not wait for the peer as well. */
  void giveUp(StagingClient client, IOException why) {
    StagingClients clients = context.staging();
    if (clients != null) {
      clients.giveUp(client, why);
    }
  }

  /** The task makes no further control connection to the peer, unless a block that was staged is still read. */
  void askNoMore(PeerBlocks peer) {
    peer.controlConnections = MAX_CONTROL_CONNECTIONS;
  }

  /** A peer whose control port is of no use may have ended, and its connection may not have noticed yet. */
  private void leaveAllToStage(PeerBlocks peer, Throwable why) {
    if (!services.mayServe(peer, TcpReason.CONNECT, why)) {
      left.addAllToStage(peer, TcpReason.STAGING, why);
    }
  }

  /** Runs in a worker; after {@code beginBy} it is not worth beginning any more, as the workers have had no time for it. */
  private void connect(
      StagingClients clients,
      Connection connection,
      int port,
      CompletableFuture<@Nullable Throwable> attempt,
      Deadline beginBy) {
    Throwable refusal = null;
    try {
      if (beginBy.expired()) {
        throw new IOException("other attempts to connect have kept all workers busy");
      }
      if (!hasEnded.getAsBoolean() && !context.closed().getAsBoolean()) {
        clients.connect(connection.peer(), port, context.progressDeadline());
      }
    } catch (IOException e) {
      refusal = e;
      connection.couldNotConnectByTcp(e);
    } catch (Throwable t) {
      refusal = t;
    } finally {
      attempt.complete(refusal);
      wake.run();
    }
  }
}
