/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

/**
 * Told the outcome of a posted list of READs in exactly one call, by any thread that polls. It may be serving all
 * connections: the call must take next to no time.
 */
public interface ReadCompletion {
  /** All bytes are in the buffer. */
  void succeeded();

  /** The content of the buffer is undefined and the connection is gone. */
  void failed(ReadFailure failure);

  /**
   * Whether the thread that waits for the outcome calls {@link CompletionPoller#poll}, so that no other
   * thread is woken for it.
   */
  default boolean isPolledFor() {
    return false;
  }
}
