/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.util.concurrent.atomic.AtomicLong;
import org.shufflerdma.verbs.NativeMemory;

/**
 * The account of what one executor may keep registered. Counted are whole pages, as the kernel
 * pins them. Bytes are taken before anything is registered and given back when it no longer is.
 * Any thread may call.
 *
 * @see RegisteredArena
 */
public final class RegistrationBudget {
  private final long limitBytes;
  private final String reason;
  private final long pageBytes;
  private final AtomicLong used = new AtomicLong();

  /**
   * A budget of which nothing is taken. The native libraries are loaded, which know the kernel's pages.
   *
   * @param reason where the limit comes from, for messages
   */
  public RegistrationBudget(long limitBytes, String reason) {
    this(limitBytes, reason, NativeMemory.pageBytes());
  }

  /** @param pageBytes a power of two */
  RegistrationBudget(long limitBytes, String reason, long pageBytes) {
    this.limitBytes = limitBytes;
    this.reason = reason;
    this.pageBytes = pageBytes;
  }

  /** Returns the bytes that {@code lengthBytes} from the start of a page count for. */
  public long pages(long lengthBytes) {
    return Math.addExact(lengthBytes, pageBytes - 1) & -pageBytes;
  }

  /** False if there is no room, and nothing has been taken. */
  public boolean tryTake(long lengthBytes) {
    long bytes = pages(lengthBytes);
    while (true) {
      long now = used.get();
      if (now > limitBytes - bytes) {
        return false;
      }
      if (used.compareAndSet(now, now + bytes)) {
        return true;
      }
    }
  }

  public void giveBack(long lengthBytes) {
    long bytes = pages(lengthBytes);
    if (used.getAndAdd(-bytes) < bytes) {
      throw new IllegalStateException("more bytes are given back than were taken");
    }
  }

  public long usedBytes() {
    return used.get();
  }

  public long limitBytes() {
    return limitBytes;
  }

  /** Limit and account, for messages. */
  @Override
  public String toString() {
    return usedBytes() + " of " + limitBytes + " bytes in use; " + reason;
  }
}
