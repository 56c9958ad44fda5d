/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Memory outside the heap, page aligned and zeroed, which is anonymous or a file of a memory file system. Only close frees
 * it: slices do not keep it alive and must not be used afterwards. Otherwise thread-safe.
 */
public final class NativeMemory implements AutoCloseable {
  private final long address;
  private final long size;

  /** A view of all bytes, of which slices are made without a call through JNI; null above 2 GiB. */
  private final @Nullable ByteBuffer whole;

  private final boolean ofReservedPages;
  private final @Nullable Path file;
  private final AtomicBoolean closed = new AtomicBoolean();

  private static final long HUGE_PAGE_BYTES = 2 << 20;
  private static final int ZEROS_BYTES = 1 << 20;
  private static final Set<PosixFilePermission> READABLE =
      PosixFilePermissions.fromString("rw-r--r--");

  private NativeMemory(long address, long size, boolean ofReservedPages, @Nullable Path file) {
    this.file = file;
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
        ? new NativeMemory(Natives.mapMemory(bytes, hugePages), bytes, false, null)
        : new NativeMemory(reserved, bytes, true, null);
  }

  /**
   * Makes a file that others may read, and maps it. All of its pages are there from the beginning: a file system without room
   * refuses them here, instead of SIGBUS later. Close deletes it.
   *
   * @param file must not exist; its name should be one that nobody guesses
   */
  public static NativeMemory ofFile(Path file, long bytes) throws IOException {
    try {
      writeZeros(file, bytes);
      Files.setPosixFilePermissions(file, READABLE);
      MappedFile mapped = MappedFile.open(file);
      mapped.closeDescriptor();
      return new NativeMemory(mapped.address(), mapped.size(), false, file);
    } catch (FileAlreadyExistsException e) {
      throw e; // it is somebody else's
    } catch (Throwable t) {
      Files.deleteIfExists(file);
      throw t;
    }
  }

  private static void writeZeros(Path file, long bytes) throws IOException {
    ByteBuffer zeros = ByteBuffer.allocateDirect(ZEROS_BYTES);
    try (FileChannel out =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      for (long left = bytes; left > 0; ) {
        left -= out.write(zeros.clear().limit((int) Math.min(left, ZEROS_BYTES)));
      }
    }
  }

  /** Returns the bytes of a page, of which memory and mappings of files have whole ones. */
  public static long pageBytes() {
    return Natives.pageBytes();
  }

  /** The file that it is; null if it is anonymous. */
  public @Nullable Path file() {
    return file;
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
  public void close() throws IOException {
    if (closed.compareAndSet(false, true)) {
      NativeObject.check("munmap", Natives.unmapMemory(address, size));
      if (file != null) {
        try (FileChannel whole = FileChannel.open(file, StandardOpenOption.WRITE)) {
          whole.truncate(0); // else whoever has it open would keep its pages
        } finally {
          Files.deleteIfExists(file);
        }
      }
    }
  }
}
