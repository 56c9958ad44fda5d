/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.shufflerdma.memory.RegisteredSlice;

/**
 * Reads a slice without owning it. Each read holds the slice while it copies: a thread that still
 * reads after its task has ended and given the buffer back gets an {@link IllegalStateException}, not
 * the bytes of another block. An {@code IOException} would mean to Spark that the block is corrupt.
 */
public final class SliceInputStream extends InputStream {
  private final RegisteredSlice slice;
  private final ByteBuffer bytes;
  private int position;
  private int mark;

  public SliceInputStream(RegisteredSlice slice) {
    this.slice = slice;
    this.bytes = slice.nioBuffer();
  }

  @Override
  public int read() {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
  }

  @Override
  public int read(byte[] into, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, into.length);
    if (length == 0) {
      return 0;
    }
    if (position >= bytes.limit()) {
      return -1;
    }
    int count = Math.min(length, available());
    slice.retain();
    try {
      bytes.get(position, into, offset, count);
    } finally {
      slice.release();
    }
    position += count;
    return count;
  }

  @Override
  public long skip(long count) {
    int skipped = (int) Math.max(0, Math.min(count, available()));
    position += skipped;
    return skipped;
  }

  @Override
  public int available() {
    return bytes.limit() - position;
  }

  @Override
  public boolean markSupported() {
    return true;
  }

  @Override
  public synchronized void mark(int readLimit) {
    mark = position;
  }

  @Override
  public synchronized void reset() {
    position = mark;
  }
}
