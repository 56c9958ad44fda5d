/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

/** Bytes of a {@link RegisteredArena} that peers can read. Its owner writes it through the view. */
public final class ArenaSlice implements AutoCloseable {
  private final RegisteredArena.Chunk chunk;
  private final long offset;
  private final int lengthBytes;
  private final AtomicBoolean closed = new AtomicBoolean();

  ArenaSlice(RegisteredArena.Chunk chunk, long offset, int lengthBytes) {
    this.chunk = chunk;
    this.offset = offset;
    this.lengthBytes = lengthBytes;
  }

  public long address() {
    return chunk.address() + offset;
  }

  public int rkey() {
    return chunk.rkey();
  }

  public int lengthBytes() {
    return lengthBytes;
  }

  /** Zeroed when the slice was allocated; not to be touched after close. */
  public ByteBuffer buffer() {
    if (closed.get()) {
      throw new IllegalStateException("slice has been freed");
    }
    return chunk.view(offset, lengthBytes);
  }

  /** Zeroes the bytes, so that a peer with a stale location finds no record, and frees them. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      chunk.free(offset, lengthBytes);
    }
  }
}
