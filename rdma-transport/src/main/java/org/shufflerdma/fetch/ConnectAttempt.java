/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.NoConnectionException;

/** An attempt to connect to a peer for a task. A worker makes and ends it; the task sees how it ended. */
final class ConnectAttempt {
  /** After this it is not worth beginning any more: the workers have had no time for it. */
  final Deadline beginBy;

  /** Written before {@link #ended}. */
  private @Nullable Throwable refusal;

  private volatile boolean ended;

  ConnectAttempt(Deadline beginBy) {
    this.beginBy = beginBy;
  }

  /**
   * Ends the attempt.
   *
   * @param why there is no connection; null if there is one, or nobody needs it any more
   */
  void end(@Nullable Throwable why) {
    refusal = why;
    ended = true;
  }

  boolean hasEnded() {
    return ended;
  }

  /** Why the attempt has failed; null if it has not. Valid once it has ended. */
  @Nullable
  Throwable refusal() {
    return refusal;
  }

  /** Throws the reason for which the attempt has failed, if it has. */
  void throwRefusal() throws NoConnectionException {
    if (refusal instanceof NoConnectionException known) {
      throw known;
    }
    if (refusal != null) {
      throw new IllegalStateException("the attempt to connect failed unexpectedly", refusal);
    }
  }
}
