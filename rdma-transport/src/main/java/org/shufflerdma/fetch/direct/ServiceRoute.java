/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import java.io.IOException;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.node.NodeServices;

/**
 * Has the node service of a peer's host serve the blocks that the peer does not serve any more. Used by the
 * task's thread alone, but for the workers, who do nothing but find services.
 *
 * @param hasEnded whether the task needs no service any more; any thread may call it
 * @param wake called when a search has ended; it must not block
 */
record ServiceRoute(
    FetchContext context, LeftBlocks left, BooleanSupplier hasEnded, Runnable wake) {
  private static final Set<TcpReason> SIGNS_OF_A_PEER_THAT_IS_GONE = EnumSet.of(
      TcpReason.CONNECT,
      TcpReason.RAIL,
      TcpReason.CONNECT_TIMEOUT,
      TcpReason.REJECTED,
      TcpReason.NONCE,
      TcpReason.BREAKER,
      TcpReason.CONNECTION_LOST,
      TcpReason.TIMEOUT);

  /** A search for the service of a peer's host. */
  static final class Search {
    /** Why the peer's blocks are left if there is no service. */
    private final TcpReason reason;

    private final Throwable cause;
    private final CompletableFuture<@Nullable PeerId> service = new CompletableFuture<>();

    private Search(TcpReason reason, Throwable cause) {
      this.reason = reason;
      this.cause = cause;
    }
  }

  /**
   * Whether the peer's blocks may come from the node service of its host, which is searched from now on.
   * Where it is false, the caller leaves the blocks.
   */
  boolean mayServe(PeerBlocks peer, TcpReason reason, Throwable cause) {
    NodeServices services = context.services();
    if (services == null
        || peer.tcpAddress == null
        || peer.hasPieces() // the service stages a block from its beginning
        || !SIGNS_OF_A_PEER_THAT_IS_GONE.contains(reason)
        || peer.hasNoService) {
      return false;
    }
    if (peer.search == null) {
      if (peer.isMoved()) {
        services.forget(peer.peer());
        if (peer.searchedAgain) {
          return false;
        }
        peer.searchedAgain = true; // the service may serve the application at another port by now
      }
      Search search = new Search(reason, cause);
      String host = peer.tcpAddress.getHostString();
      Deadline beginBy = context.progressDeadline();
      peer.search = search;
      // One search of a host keeps the others of it waiting, which must not take the workers from
      // other hosts.
      context.connects().execute(host, () -> search(services, host, search, beginBy));
    }
    return true;
  }

  /** Runs in a worker; after {@code beginBy} it is not worth beginning any more, as the workers have had no time for it. */
  private void search(NodeServices services, String host, Search search, Deadline beginBy) {
    try {
      if (beginBy.expired() || hasEnded.getAsBoolean() || context.closed().getAsBoolean()) {
        throw new IOException("the node service was not searched in time");
      }
      search.service.complete(services.find(host, context.progressDeadline()));
    } catch (Throwable t) {
      search.service.complete(null); // as if there were none
    } finally {
      wake.run();
    }
  }

  /** Whether blocks may be asked for; if a search has ended, the peer's blocks are moved, or left. */
  boolean isOpen(PeerBlocks peer) {
    Search search = peer.search;
    if (search == null) {
      return true;
    }
    if (!search.service.isDone()) {
      return false;
    }
    peer.search = null;
    PeerId found = search.service.join();
    if (found != null && !found.equals(peer.peer())) {
      peer.moveTo(found);
      return true;
    }
    peer.hasNoService = true;
    left.addAll(peer, search.reason, search.cause);
    return false;
  }
}
