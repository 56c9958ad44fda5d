/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;

/**
 * An attempt to make a control connection to a peer, or to find the node service of its host, for a task. A worker makes
 * and ends it; the task sees how it ended.
 */
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
}
