/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** There is no connection to a peer, or it broke, and why. */
public final class NoConnectionException extends IOException {
  private static final long serialVersionUID = 1L;

  private final PeerFailure failure;
  private final String detail;

  /** The message ends with that of the cause, which the log's one line is to show. */
  NoConnectionException(PeerId peer, PeerFailure failure, String detail, Throwable cause) {
    this(peer, failure, cause, detail + ": " + cause.getMessage());
  }

  public NoConnectionException(PeerId peer, PeerFailure failure, String detail) {
    this(peer, failure, null, detail);
  }

  private NoConnectionException(
      PeerId peer, PeerFailure failure, @Nullable Throwable cause, String detail) {
    super("no RDMA connection to " + peer + ": " + failure + ": " + detail, cause);
    this.failure = failure;
    this.detail = detail;
  }

  public PeerFailure failure() {
    return failure;
  }

  /** Returns the message without the peer. */
  String reason() {
    return failure + ": " + detail;
  }

  /** Returns this failure for a peer whose host does not answer TCP either. */
  NoConnectionException unreachable(PeerId peer) {
    return new NoConnectionException(
        peer, PeerFailure.PEER_UNREACHABLE, this, detail + ", and its host does not answer TCP");
  }

  /** Returns this failure for a peer on a rail that cannot be reached from this one. */
  NoConnectionException ofRails(PeerId peer) {
    return new NoConnectionException(peer, PeerFailure.RAIL, this, detail);
  }

  /** Returns this failure for another thread that finds it, with a stack trace of its own. */
  NoConnectionException forWaiter(PeerId peer) {
    return new NoConnectionException(peer, failure, this, detail);
  }
}
