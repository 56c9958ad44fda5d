/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Files of one size that READs are made of. They consist of lines of 64 bytes that begin with a number,
 * which tells the line from all others of all files.
 */
record ReadSource(Path directory, int fileBytes) {
  static final int FILES = 64;
  static final int LINE_BYTES = 64;

  /** As many bytes in all, or up to twice as many, since the size of a file is a power of two. */
  static ReadSource ofBytes(Path directory, long bytes) {
    long fileBytes = Long.highestOneBit(bytes / FILES - 1) << 1;
    return new ReadSource(directory, Math.toIntExact(fileBytes));
  }

  long totalBytes() {
    return (long) FILES * fileBytes;
  }

  /**
   * One of the READs that a pass makes one after the other: each is of the next file, where the last
   * READ of that file ended.
   */
  record Place(int file, int offset) {}

  Place place(long read, int readBytes) {
    return new Place((int) (read % FILES), (int) (read / FILES * readBytes % fileBytes));
  }

  /** The sum of the numbers that the READ must bring in its first and in its last line. */
  long sum(Place place, int readBytes) {
    return number(place.file, place.offset)
        + number(place.file, place.offset + readBytes - LINE_BYTES);
  }

  private static long number(int file, int offset) {
    return (long) file << 32 | offset / LINE_BYTES;
  }

  List<Path> files() {
    List<Path> files = new ArrayList<>();
    for (int file = 0; file < FILES; file++) {
      files.add(directory.resolve("lines-" + file));
    }
    return files;
  }

  void write() throws IOException {
    Files.createDirectories(directory);
    byte[] rest = new byte[LINE_BYTES - Long.BYTES];
    for (int file = 0; file < FILES; file++) {
      try (DataOutputStream out = new DataOutputStream(
          new BufferedOutputStream(Files.newOutputStream(files().get(file))))) {
        for (int offset = 0; offset < fileBytes; offset += LINE_BYTES) {
          out.writeLong(number(file, offset));
          out.write(rest);
        }
      }
    }
  }
}
