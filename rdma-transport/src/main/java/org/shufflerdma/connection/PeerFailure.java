/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.verbs.WcStatus;

/** Why no READ from a peer is possible: there is no connection to it, or the connection broke. */
public enum PeerFailure {
  /** Its address leads nowhere, or to another device. */
  ADDRESS(TcpReason.CONNECT),
  /** The rail that it uses cannot be reached from the one that this executor uses. */
  RAIL(TcpReason.RAIL),
  /** Nobody listens there. */
  REFUSED(TcpReason.CONNECT),
  /** The peer's host rejected the request without the peer, most likely for want of a route back. */
  NO_WAY_BACK(TcpReason.CONNECT),
  /** The peer's listener rejected the request because its transport is closed, or has failed. */
  LISTENER_CLOSED(TcpReason.CONNECT),
  /** The peer speaks another version of the handshake. */
  VERSION(TcpReason.REJECTED),
  /** One side does not know the other's secret. */
  SECRET(TcpReason.REJECTED),
  /** The peer's listener has seen the same request before. */
  REPLAY(TcpReason.REJECTED),
  /** The peer's listener has no place for another connection. */
  TOO_MANY(TcpReason.REJECTED),
  /** Another run of the executor, or another process, answers at that address. */
  NONCE(TcpReason.NONCE),
  /** The handshake was good, but a READ does not bring the bytes that it must. */
  CANARY(TcpReason.CANARY),
  /** The peer did not answer a request for a connection in time. */
  TIMEOUT(TcpReason.CONNECT_TIMEOUT),
  /** The peer failed too often; it is left alone for a while. */
  BREAKER(TcpReason.BREAKER),
  /** This side has no queue pair, completion queue entries, registered memory or thread left. */
  RESOURCES(TcpReason.RESOURCES),
  /** A READ completed with an error. */
  READ_ERROR(TcpReason.CONNECTION_LOST),
  /** The peer did not answer a READ within the device's retries. */
  NO_ANSWER(TcpReason.CONNECTION_LOST),
  /** A later list of READs completed, so the completion of an earlier one is lost. */
  COMPLETION_LOST(TcpReason.CONNECTION_LOST),
  /** The device refused to take a work request. */
  POST_REFUSED(TcpReason.CONNECTION_LOST),
  /** The peer, or its host, ended the connection. */
  DISCONNECTED(TcpReason.CONNECTION_LOST),
  /** READs that nobody waits for held too many buffers. */
  ABANDONED(TcpReason.CONNECTION_LOST),
  /** The device or one of the transport's own threads failed. */
  DEVICE(TcpReason.CONNECTION_LOST),
  /** The connection was idle, and its place was needed for a connection to another peer. */
  EVICTED(TcpReason.CONNECTION_LOST),
  /** No completion for too long, though the peer's host answers or cannot be asked. */
  NO_PROGRESS(TcpReason.TIMEOUT),
  /** The peer does not answer, and its host does not answer TCP either. */
  PEER_UNREACHABLE(TcpReason.PEER_UNREACHABLE),
  /** This transport is closed, or has failed. */
  CLOSED(TcpReason.CLOSED);

  private final TcpReason tcpReason;

  PeerFailure(TcpReason tcpReason) {
    this.tcpReason = tcpReason;
  }

  /**
   * Returns what a READ that completed with an error says about the connection: it may say that the
   * peer is silent, which is not due to this one READ.
   */
  public static PeerFailure of(int wcStatus) {
    return switch (wcStatus) {
      case WcStatus.RETRY_EXC_ERR, WcStatus.RNR_RETRY_EXC_ERR, WcStatus.RESP_TIMEOUT_ERR ->
        NO_ANSWER;
      default -> READ_ERROR;
    };
  }

  /** Returns why the blocks go by TCP whose READs were not to blame. */
  public TcpReason tcpReason() {
    return tcpReason;
  }

  /** Returns whether another try on a new connection may succeed. */
  public boolean isWorthReconnecting() {
    return tcpReason == TcpReason.CONNECTION_LOST;
  }
}
