/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A file in the page cache whose bytes follow from their offset, so that any part can be checked.
 */
record TestFile(Path path, long size, long seed) implements AutoCloseable {
  private static final int BUFFER_BYTES = 1 << 20;

  /**
   * @param size a multiple of 8
   */
  static TestFile create(Path directory, long size, long seed) throws IOException {
    Path path = Files.createTempFile(directory, "verify-hardware", ".data");
    // A signal ends the process past close().
    path.toFile().deleteOnExit();
    TestFile file = new TestFile(path, size, seed);
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
      ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES).order(ByteOrder.nativeOrder());
      for (long at = 0; at < size; at += buffer.limit()) {
        buffer.clear().limit((int) Math.min(BUFFER_BYTES, size - at));
        for (int i = 0; i < buffer.limit(); i += Long.BYTES) {
          buffer.putLong(i, file.word(at + i));
        }
        while (buffer.hasRemaining()) {
          channel.write(buffer);
        }
      }
      return file;
    } catch (Throwable t) {
      file.close();
      throw t;
    }
  }

  /** Forces the file to disk, after which none of its pages is dirty. */
  void clean() throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
      channel.force(true);
    }
  }

  /** Returns whether these are the bytes from {@code offset} on, a multiple of 8. */
  boolean holds(ByteBuffer bytes, long offset) {
    ByteBuffer words = bytes.duplicate().order(ByteOrder.nativeOrder());
    int whole = words.remaining() / Long.BYTES * Long.BYTES;
    for (int i = 0; i < whole; i += Long.BYTES) {
      if (words.getLong(i) != word(offset + i)) {
        return false;
      }
    }
    return true;
  }

  /** The finalizer of SplitMix64: neighbouring inputs give unrelated outputs. */
  private long word(long offset) {
    long z = seed + offset * 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  @Override
  public void close() throws IOException {
    Files.deleteIfExists(path);
  }
}
