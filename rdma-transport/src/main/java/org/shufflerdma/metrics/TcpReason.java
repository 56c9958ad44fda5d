/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

import java.util.Locale;

/** The reasons for which a block is fetched by TCP, each of which is a count of blocks. */
public enum TcpReason implements ReadCount {
  /** RDMA is not in use on the reading executor. */
  RDMA_OFF,
  /** The map task published no location: its executor has no RDMA, or could not register. */
  NO_LOCATION,
  /** The file has moved to another executor since. */
  MIGRATED,
  /** The block does not belong to a map output; it may be a push-merged chunk. */
  OTHER_BLOCK,
  /** Spark could not decode the block that RDMA had delivered, and asks for it again. */
  REFETCH,
  /** The exact length of the block is 0, but Spark expected bytes. */
  ZERO_LENGTH,
  /** The temporary file for a large block could not be created. */
  FILE,
  /** The peer's endpoint does not lead to its device, or nobody listens there. */
  CONNECT,
  /** The peer uses a rail that cannot be reached from the reader's. */
  RAIL,
  /** The peer did not answer a connection request within the timeout. */
  CONNECT_TIMEOUT,
  /** The peer rejected the connection request. */
  REJECTED,
  /** Another process than the one that published the location answered. */
  NONCE,
  /** The READ that tests a new connection failed or returned wrong bytes. */
  CANARY,
  /** The peer failed too often recently, so no connection to it is tried for a while. */
  BREAKER,
  /** Neither RDMA nor TCP reaches the peer; its blocks are lost until it comes back. */
  PEER_UNREACHABLE,
  /** No queue pair, completion queue entry or descriptor was left on this side. */
  RESOURCES,
  /** Its owner withdrew the map output, whose shuffle has been removed. */
  WITHDRAWN,
  /** The map output is not registered, and its owner does not stage it, or could not. */
  STAGING,
  /** The bytes at the location are not, or no longer, the descriptor of this map output. */
  DESCRIPTOR,
  /** The peer refused access: the map output is gone. */
  REMOTE_ACCESS,
  /** This READ broke the connection in another way. */
  READ_ERROR,
  /** The connection broke again after it had been replaced. */
  CONNECTION_LOST,
  /** The peer completed no READ within the timeout. */
  TIMEOUT,
  /** The checksum did not match, even after the block was read again. */
  CHECKSUM,
  /** No registered buffer became free in time. */
  POOL,
  /** The block is too large for one buffer, and the caller gave no sink. */
  TOO_LARGE,
  /** The caller's sink threw an exception. */
  SINK,
  /** The fetcher or the transport is closed. */
  CLOSED,
  /** The plugin failed in a way that it does not expect, or the caller's listener did; see the log. */
  INTERNAL;

  /** Returns the name in log lines and pages, for example {@code no-location}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  @Override
  public String publicName() {
    return "shuffle.rdma.fallback." + label();
  }
}
