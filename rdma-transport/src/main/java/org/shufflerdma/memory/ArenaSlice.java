/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.nio.ByteBuffer;

/**
 * Bytes of a {@link RegisteredArena} that peers can read. Its owner writes it through the view. Any
 * thread may call.
 */
public final class ArenaSlice implements AutoCloseable {
  private final RegisteredArena.Chunk chunk;
  private final long offset;
  // Guarded by this; 0 once closed.
  private int lengthBytes;

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

  /** Zeroed when the slice was allocated; not to be touched after close. */
  public synchronized ByteBuffer buffer() {
    if (lengthBytes == 0) {
      throw new IllegalStateException("slice has been freed");
    }
    return chunk.view(offset, lengthBytes);
  }

  /** Zeroes the bytes, so that a peer with a stale location finds no record, and frees them. */
  @Override
  public synchronized void close() {
    if (lengthBytes > 0) {
      chunk.free(offset, RegisteredArena.roundUp(lengthBytes));
      lengthBytes = 0;
    }
  }
}
