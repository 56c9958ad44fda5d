/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.concurrent;

/** Waits for the end of what uses resources that are about to be given back. */
public final class Ended {
  /** Waits so many milliseconds, but at least one; true if the end has come. */
  public interface Wait {
    boolean await(long ms) throws InterruptedException;
  }

  private Ended() {}

  /**
   * Waits until the end has come, also if it is interrupted.
   *
   * @param what has not ended, for the message
   * @throws StillInUseException if it has not ended in time; an interrupt is kept then
   * @throws InterruptedException if it has ended, and this was interrupted meanwhile
   */
  public static void await(String what, long timeoutMs, Wait wait) throws InterruptedException {
    Deadline deadline = Deadline.afterMs(timeoutMs);
    InterruptedException interrupt = null;
    boolean ended = false;
    do {
      try {
        ended = wait.await(Math.max(1, deadline.remainingMs()));
      } catch (InterruptedException e) {
        interrupt = e;
      }
    } while (!ended && !deadline.expired());
    if (!ended) {
      if (interrupt != null) {
        Thread.currentThread().interrupt();
      }
      throw new StillInUseException(what + " did not end within " + timeoutMs + " ms");
    }
    if (interrupt != null) {
      throw interrupt;
    }
  }
}
