/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Anonymous memory outside the heap, page aligned and zeroed, freed by close alone: slices do not
 * keep it alive and must not be used afterwards. Thread safe but for that.
 */
public final class NativeMemory implements AutoCloseable {
  private final long address;
  private final long size;
  private final AtomicBoolean closed = new AtomicBoolean();

  private NativeMemory(long address, long size) {
    this.address = address;
    this.size = size;
  }

  /** {@code hugePages} asks for transparent huge pages; without them it works all the same. */
  public static NativeMemory allocate(long bytes, boolean hugePages) throws VerbsException {
    if (bytes <= 0) {
      throw new IllegalArgumentException("size is " + bytes + ", must be positive");
    }
    return new NativeMemory(Natives.mapMemory(bytes, hugePages), bytes);
  }

  public long address() {
    return address;
  }

  public long size() {
    return size;
  }

  /** A view of part of it, big endian as every new buffer. */
  public ByteBuffer slice(long offset, int length) {
    Objects.checkFromIndexSize(offset, length, size);
    if (closed.get()) {
      throw new IllegalStateException("the memory is freed");
    }
    return Natives.directBuffer(address + offset, length);
  }

  @Override
  public void close() throws VerbsException {
    if (closed.compareAndSet(false, true)) {
      NativeObject.check("munmap", Natives.unmapMemory(address, size));
    }
  }
}
