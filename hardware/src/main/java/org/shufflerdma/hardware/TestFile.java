/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A file in the page cache. */
record TestFile(Path path, long size, TestBytes bytes) implements AutoCloseable {
  private static final int BUFFER_BYTES = 1 << 20;

  /**
   * @param size a multiple of 8
   */
  static TestFile create(Path directory, long size, long seed) throws IOException {
    Path path = Files.createTempFile(directory, "verify-hardware", ".data");
    // A signal ends the process past close().
    path.toFile().deleteOnExit();
    TestFile file = new TestFile(path, size, new TestBytes(seed));
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
      ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
      for (long at = 0; at < size; at += buffer.limit()) {
        buffer.clear().limit((int) Math.min(BUFFER_BYTES, size - at));
        file.bytes().fill(buffer, at);
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

  @Override
  public void close() throws IOException {
    Files.deleteIfExists(path);
  }
}
