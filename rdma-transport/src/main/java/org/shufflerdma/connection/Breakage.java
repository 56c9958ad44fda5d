/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import org.jspecify.annotations.Nullable;

/** The cause that ended a connection. */
public record Breakage(Kind kind, String detail, @Nullable Throwable cause) {
  public enum Kind {
    /** A READ completed with an error. */
    READ_ERROR,
    /** The peer did not answer a READ within the device's retries. */
    NO_ANSWER,
    /** The device refused to take a work request. */
    POST_REFUSED,
    /** The peer, or its host, ended it. */
    DISCONNECTED,
    /** No completion for too long, though the peer's host answers or cannot be asked. */
    NO_PROGRESS,
    /** No completion for too long, and the peer's host does not answer either. */
    PEER_UNREACHABLE,
    /** Its READs that nobody waits for held too many buffers. */
    ABANDONED,
    /** The device or one of the transport's own threads failed. */
    DEVICE,
    /** It was idle, and its place was needed for a connection to another peer. */
    EVICTED,
    /** This side was closed. */
    CLOSED
  }

  Breakage(Kind kind, String detail) {
    this(kind, detail, null);
  }

  @Override
  public String toString() {
    return kind + ": " + detail;
  }
}
