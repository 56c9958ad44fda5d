/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.Socket;
import java.net.SocketTimeoutException;

/** Asks by a plain TCP connect whether a peer's host is there at all. */
final class TcpProbe {
  private static final int TIMEOUT_MS = 3_000;
  private static final int TRIES = 2;

  /** Longest time that {@link #isAnswered} takes. */
  static final int TOTAL_MS = TIMEOUT_MS * TRIES;

  private TcpProbe() {}

  /** The target with its name looked up, which may take as long as the host's resolver likes. */
  static InetSocketAddress resolve(InetSocketAddress target) {
    return target.isUnresolved()
        ? new InetSocketAddress(target.getHostString(), target.getPort())
        : target;
  }

  /**
   * A refusal is an answer; silence, or no route, twice in a row is none. A host that could not be
   * asked, as its name leads to no address or this side has no descriptor left, is not held to be
   * silent.
   *
   * @param target resolved
   */
  static boolean isAnswered(InetSocketAddress target) {
    if (target.isUnresolved()) {
      return true;
    }
    for (int i = 0; i < TRIES; i++) {
      if (answers(target)) {
        return true;
      }
    }
    return false;
  }

  private static boolean answers(InetSocketAddress target) {
    try (Socket socket = new Socket()) {
      socket.connect(target, TIMEOUT_MS);
      return true;
    } catch (IOException e) {
      return !isSilence(e);
    }
  }

  /**
   * The kernel may give up before the time is over (net.ipv4.tcp_syn_retries). It says ENETUNREACH where this
   * host has no route, which tells nothing about the peer.
   */
  static boolean isSilence(IOException failure) {
    return failure instanceof SocketTimeoutException
        || failure instanceof NoRouteToHostException
        || (failure instanceof ConnectException
            && String.valueOf(failure.getMessage()).contains("timed out"));
  }
}
