/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;

/**
 * Blocks of one size in files, one for each map. A request is for one partition of all maps, as a
 * reduce task makes it. Each block begins with its number; the rest follows from the number.
 */
record BlockSet(int blockBytes, int maps, int partitions) {
  private static final int MOST_MAPS = 64;
  private static final int MOST_PARTITIONS = 256;
  private static final int REQUEST_BYTES = 8 << 20;

  /** Returns the sets of 1 KiB to 4 MiB, each of about so many bytes at most. */
  static List<BlockSet> ofBytes(long bytes) {
    List<BlockSet> sets = new ArrayList<>();
    for (int blockBytes = 1 << 10; blockBytes <= 4 << 20; blockBytes *= 4) {
      int maps = Math.min(MOST_MAPS, Math.max(2, REQUEST_BYTES / blockBytes));
      long partitions = bytes / ((long) maps * blockBytes);
      sets.add(
          new BlockSet(blockBytes, maps, (int) Math.min(MOST_PARTITIONS, Math.max(1, partitions))));
    }
    return sets;
  }

  /** The number of the shuffle that has the blocks. */
  int shuffleId() {
    return blockBytes;
  }

  int blocks() {
    return maps * partitions;
  }

  long number(int map, int partition) {
    return (long) map * partitions + partition;
  }

  byte[] content(int map, int partition) {
    byte[] content = new byte[blockBytes];
    long number = number(map, partition);
    new SplittableRandom(number).nextBytes(content);
    ByteBuffer.wrap(content).putLong(0, number);
    return content;
  }

  int checksum(int map, int partition) {
    CRC32C crc = new CRC32C();
    crc.update(content(map, partition));
    return (int) crc.getValue();
  }

  /** The sum of all checksums. */
  long checksums() {
    long sum = 0;
    for (int map = 0; map < maps; map++) {
      for (int partition = 0; partition < partitions; partition++) {
        sum += Integer.toUnsignedLong(checksum(map, partition));
      }
    }
    return sum;
  }

  Path file(Path directory, int map) {
    return directory.resolve("shuffle_%d_%d_0.data".formatted(shuffleId(), map));
  }

  /** The offsets of the partitions in {@link #file}, as Spark writes them. */
  Path index(Path directory, int map) {
    return directory.resolve("shuffle_%d_%d_0.index".formatted(shuffleId(), map));
  }

  /** For people, for example {@code 64 KiB}. */
  String label() {
    return blockBytes < 1 << 20 ? blockBytes / 1024 + " KiB" : (blockBytes >> 20) + " MiB";
  }
}
