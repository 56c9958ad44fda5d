/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;

/** Tells where in its peer's memory a block is. Used by the task's thread alone. */
interface ExtentSource {
  /**
   * Finds out where the peer's next block is, and where others are while it is at it. It may wait for
   * the peer, and leaves the blocks that have no place.
   *
   * @return false if no block is left, or the next one must wait until the task gives back a buffer
   * @throws TimeoutException if {@code postBy} comes first
   */
  boolean locate(PeerBlocks peer, Connection connection, Deadline postBy)
      throws ReadsFailedException, NoConnectionException, InterruptedException, TimeoutException;

  /** Returns where the block is, if that is known and may still be relied upon. Never waits. */
  @Nullable
  KnownDescriptor find(PeerBlocks peer, int block);
}
