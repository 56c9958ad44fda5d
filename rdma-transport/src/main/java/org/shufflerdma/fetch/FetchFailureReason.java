/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.Locale;
import org.shufflerdma.connection.Breakage;
import org.shufflerdma.connection.ConnectFailure;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.location.InvalidDescriptorException;
import org.shufflerdma.location.WithdrawnException;
import org.shufflerdma.verbs.WcStatus;

/** The reasons for which RDMA does not deliver a block. Counters are named after them. */
public enum FetchFailureReason {
  /** The peer's endpoint does not lead to its device, or nobody listens there. */
  CONNECT,
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
  /** Its owner withdrew the map output to make room for others, or has no room for it yet. */
  WITHDRAWN,
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

  /** Returns the name for counters, for example {@code remote-access}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  static FetchFailureReason of(ConnectFailure failure) {
    return switch (failure) {
      case ADDRESS, REFUSED -> CONNECT;
      case REJECTED -> REJECTED;
      case NONCE -> NONCE;
      case CANARY -> CANARY;
      case TIMEOUT -> CONNECT_TIMEOUT;
      case UNREACHABLE -> PEER_UNREACHABLE;
      case BREAKER -> BREAKER;
      case RESOURCES -> RESOURCES;
      case CLOSED -> CLOSED;
    };
  }

  static FetchFailureReason of(InvalidDescriptorException why) {
    return why instanceof WithdrawnException ? WITHDRAWN : DESCRIPTOR;
  }

  /** Returns the reason for a READ that is itself to blame. */
  static FetchFailureReason ofCulprit(ReadFailure failure) {
    return failure.wcStatus() == WcStatus.REM_ACCESS_ERR ? REMOTE_ACCESS : READ_ERROR;
  }

  /** Returns the reason for a READ that was lost with its connection. */
  static FetchFailureReason of(Breakage breakage) {
    return switch (breakage.kind()) {
      case READ_ERROR, NO_ANSWER, POST_REFUSED, DISCONNECTED, ABANDONED, DEVICE, EVICTED ->
        CONNECTION_LOST;
      case NO_PROGRESS -> TIMEOUT;
      case PEER_UNREACHABLE -> PEER_UNREACHABLE;
      case CLOSED -> CLOSED;
    };
  }

  /** Returns whether another try on a new connection may succeed. */
  static boolean isWorthReconnecting(Breakage breakage) {
    return of(breakage) == CONNECTION_LOST;
  }
}
