/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** There is no connection to a peer, and why. */
public final class NoConnectionException extends IOException {
  private static final long serialVersionUID = 1L;

  private final ConnectFailure failure;
  private final String detail;

  NoConnectionException(
      PeerId peer, ConnectFailure failure, String detail, @Nullable Throwable cause) {
    super("no RDMA connection to " + peer + ": " + failure + ", " + detail, cause);
    this.failure = failure;
    this.detail = detail;
  }

  NoConnectionException(PeerId peer, ConnectFailure failure, String detail) {
    this(peer, failure, detail, null);
  }

  public ConnectFailure failure() {
    return failure;
  }

  /** The same failure for another who waited for the attempt, with a stack trace of its own. */
  NoConnectionException forWaiter(PeerId peer) {
    return new NoConnectionException(peer, failure, detail, this);
  }
}
