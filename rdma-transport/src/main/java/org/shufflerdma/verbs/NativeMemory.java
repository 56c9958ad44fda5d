/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Anonymous memory outside the heap, page aligned and zeroed. Only close frees it: slices do not
 * keep it alive and must not be used afterwards. Otherwise thread-safe.
 */
public final class NativeMemory implements AutoCloseable {
  private final long address;
  private final long size;

  /** A view of all bytes, of which slices are made without a call through JNI; null above 2 GiB. */
  private final @Nullable ByteBuffer whole;

  private final boolean ofReservedPages;
  private final AtomicBoolean closed = new AtomicBoolean();

  private static final long HUGE_PAGE_BYTES = 2 << 20;

  private NativeMemory(long address, long size, boolean ofReservedPages) {
    this.address = address;
    this.size = size;
    this.whole = size <= Integer.MAX_VALUE ? Natives.directBuffer(address, (int) size) : null;
    this.ofReservedPages = ofReservedPages;
  }

  /**
   * Allocates memory.
   *
   * @param hugePages whether to take whole huge pages from the kernel's pool, where an
   *     administrator has reserved some and they are free, and otherwise to request transparent
   *     ones; without either the memory has normal pages
   */
  public static NativeMemory allocate(long bytes, boolean hugePages) throws VerbsException {
    if (bytes <= 0) {
      throw new IllegalArgumentException("size is " + bytes + ", must be positive");
    }
    long reserved = hugePages && bytes % HUGE_PAGE_BYTES == 0 ? Natives.mapHugePages(bytes) : 0;
    return reserved == 0
        ? new NativeMemory(Natives.mapMemory(bytes, hugePages), bytes, false)
        : new NativeMemory(reserved, bytes, true);
  }

  /** Returns the bytes of a page, of which memory and mappings of files have whole ones. */
  public static long pageBytes() {
    return Natives.pageBytes();
  }

  public long address() {
    return address;
  }

  public long size() {
    return size;
  }

  /** Returns whether the memory comes from the kernel's pool of huge pages. */
  public boolean isOfReservedPages() {
    return ofReservedPages;
  }

  /** Returns a view of a part of the memory, big endian as every new buffer. */
  public ByteBuffer slice(long offset, int length) {
    Objects.checkFromIndexSize(offset, length, size);
    if (closed.get()) {
      throw new IllegalStateException("the memory is freed");
    }
    return whole == null
        ? Natives.directBuffer(address + offset, length)
        : whole.slice((int) offset, length);
  }

  @Override
  public void close() throws VerbsException {
    if (closed.compareAndSet(false, true)) {
      NativeObject.check("munmap", Natives.unmapMemory(address, size));
    }
  }
}
