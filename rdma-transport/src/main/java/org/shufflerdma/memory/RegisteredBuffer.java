/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The lease of one sink of a {@link BufferPool}. It is held by users (the Java side) and by the
 * device (work requests that may still write to it), and goes back to the pool exactly once, when
 * the last of both has let go:
 *
 * <pre>
 *   users > 0, posted = 0   LEASED
 *   users > 0, posted > 0   POSTED
 *   users = 0, posted > 0   ZOMBIE: nobody waits for the bytes, the device may still write them
 *   users = 0, posted = 0   FREE: back in the pool, this lease is over for good
 *
 *   holds = | posted (32) | users (32) |
 * </pre>
 *
 * Any thread may call any method. A lease whose queue pair could not be destroyed stays a zombie.
 */
public final class RegisteredBuffer {
  private static final long ONE_USER = 1;
  private static final long ONE_POSTED = 1L << 32;
  private static final long USERS_MASK = ONE_POSTED - 1;

  private final BufferPool pool;
  private final Slab slab;
  private final long slabOffset;
  private final AtomicLong holds = new AtomicLong(ONE_USER);

  RegisteredBuffer(BufferPool pool, Slab slab, long slabOffset) {
    this.pool = pool;
    this.slab = slab;
    this.slabOffset = slabOffset;
  }

  public long address() {
    return slab.address() + slabOffset;
  }

  /** The file that its memory is a part of; null if it is none. */
  @Nullable
  Path file() {
    return slab.file();
  }

  /** Where the buffer begins in that file. */
  long fileOffset() {
    return slabOffset;
  }

  public int lkey() {
    return slab.lkey();
  }

  public long capacityBytes() {
    return slab.bufferBytes();
  }

  public void retain() {
    add(ONE_USER);
  }

  /** Ends one user's hold. */
  public void release() {
    subtract(ONE_USER);
  }

  /** One more work request, or one more list of them, may write to this buffer. */
  public void posted() {
    add(ONE_POSTED);
  }

  /** The device is done with one posting: it completed, or its queue pair has been destroyed. */
  public void completed() {
    subtract(ONE_POSTED);
  }

  /** Nobody waits for what the device may still write to it. */
  public boolean isZombie() {
    long now = holds.get();
    return now != 0 && (now & USERS_MASK) == 0;
  }

  /** A slice with a hold of its own, which its release gives up. */
  public RegisteredSlice slice(long offsetBytes, long lengthBytes) {
    Objects.checkFromIndexSize(offsetBytes, lengthBytes, capacityBytes());
    RegisteredSlice slice = new RegisteredSlice(this, offsetBytes, lengthBytes);
    retain();
    return slice;
  }

  /** A view for a current user; it must not be touched after that user's release. */
  public ByteBuffer nioBuffer(long offsetBytes, int lengthBytes) {
    Objects.checkFromIndexSize(offsetBytes, lengthBytes, capacityBytes());
    if ((holds.get() & USERS_MASK) == 0) {
      throw overReleased();
    }
    return slab.view(slabOffset + offsetBytes, lengthBytes);
  }

  private void add(long one) {
    long before =
        holds.getAndUpdate(current -> (current & USERS_MASK) == 0 ? current : current + one);
    if ((before & USERS_MASK) == 0) {
      throw overReleased();
    }
  }

  private void subtract(long one) {
    long field = one == ONE_USER ? USERS_MASK : ~USERS_MASK;
    long before = holds.getAndUpdate(current -> (current & field) == 0 ? current : current - one);
    if ((before & field) == 0) {
      throw overReleased();
    }
    long after = before - one;
    boolean wasZombie = (before & USERS_MASK) == 0;
    if (after == 0) {
      pool.takeBack(slab, slabOffset, wasZombie);
    } else if (!wasZombie && (after & USERS_MASK) == 0) {
      pool.countZombie(slab.bufferBytes());
    }
  }

  private IllegalStateException overReleased() {
    long now = holds.get();
    return new IllegalStateException("buffer at 0x%x is no longer held: users=%d posted=%d"
        .formatted(address(), now & USERS_MASK, now >>> 32));
  }
}
