/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A reference-counted part of a {@link RegisteredBuffer}, born with one reference. Several slices
 * share a buffer; each gives up its hold with its own last release. Views of it end there too.
 */
public final class RegisteredSlice {
  private final RegisteredBuffer buffer;
  private final long offsetBytes;
  private final long lengthBytes;
  private final AtomicInteger references = new AtomicInteger(1);

  RegisteredSlice(RegisteredBuffer buffer, long offsetBytes, long lengthBytes) {
    this.buffer = buffer;
    this.offsetBytes = offsetBytes;
    this.lengthBytes = lengthBytes;
  }

  public long lengthBytes() {
    return lengthBytes;
  }

  /** The file in which other processes can read the bytes, until the last release; null if there is none. */
  public @Nullable Path file() {
    return buffer.file();
  }

  /** Where the slice begins in that file. */
  public long fileOffset() {
    return buffer.fileOffset() + offsetBytes;
  }

  /** The whole slice, which is at most 2 GiB - 1. */
  public ByteBuffer nioBuffer() {
    return nioBuffer(0, Math.toIntExact(lengthBytes));
  }

  /** A view of a part; it must not be touched after the last release. */
  public ByteBuffer nioBuffer(long offset, int length) {
    if (references.get() <= 0) {
      throw released();
    }
    if (offset < 0 || length < 0 || offset > lengthBytes - length) {
      throw new IndexOutOfBoundsException(
          "bytes " + offset + "+" + length + " of a slice of " + lengthBytes);
    }
    return buffer.nioBuffer(offsetBytes + offset, length);
  }

  public void retain() {
    if (references.getAndUpdate(count -> count <= 0 ? count : count + 1) <= 0) {
      throw released();
    }
  }

  public void release() {
    int before = references.getAndUpdate(count -> count <= 0 ? count : count - 1);
    if (before <= 0) {
      throw released();
    }
    if (before == 1) {
      buffer.release();
    }
  }

  private static IllegalStateException released() {
    return new IllegalStateException("slice has been released");
  }
}
