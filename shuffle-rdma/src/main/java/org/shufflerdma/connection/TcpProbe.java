/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;

/** Asks by a plain TCP connect whether a peer's host is there at all. */
final class TcpProbe {
  private static final int TIMEOUT_MS = 3_000;
  private static final int TRIES = 2;

  /** Longest time that {@link #isAnswered} takes. */
  static final int TOTAL_MS = TIMEOUT_MS * TRIES;

  private TcpProbe() {}

  /**
   * A refusal is an answer; silence, or no route, twice in a row is none. A host whose name leads to
   * no address could not be asked, which says nothing against it.
   */
  static boolean isAnswered(InetSocketAddress target) {
    InetSocketAddress resolved = target.isUnresolved()
        ? new InetSocketAddress(target.getHostString(), target.getPort())
        : target;
    if (resolved.isUnresolved()) {
      return true;
    }
    for (int i = 0; i < TRIES; i++) {
      if (answers(resolved)) {
        return true;
      }
    }
    return false;
  }

  private static boolean answers(InetSocketAddress target) {
    try (Socket socket = new Socket()) {
      socket.connect(target, TIMEOUT_MS);
      return true;
    } catch (ConnectException e) {
      return String.valueOf(e.getMessage()).contains("refused");
    } catch (IOException e) {
      return false;
    }
  }
}
