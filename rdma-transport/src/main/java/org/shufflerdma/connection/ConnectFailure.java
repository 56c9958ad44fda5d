/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

/** Why there is no connection to a peer. */
public enum ConnectFailure {
  /** Its address leads nowhere, or to another device. */
  ADDRESS,
  /** Nobody listens there. */
  REFUSED,
  /** The peer's listener does not let us in: wrong secret or version, or too many connections. */
  REJECTED,
  /** Another run of the executor, or another process, answers at that address. */
  NONCE,
  /** The handshake was good, but a READ does not bring the bytes that it must. */
  CANARY,
  /** No answer in time. */
  TIMEOUT,
  /** Neither RDMA nor a TCP connect gets an answer. */
  UNREACHABLE,
  /** The peer failed too often; it is left alone for a while. */
  BREAKER,
  /** No queue pair, completion queue entries or registered memory are left on this side. */
  RESOURCES,
  /** This transport is closed, or has failed. */
  CLOSED
}
