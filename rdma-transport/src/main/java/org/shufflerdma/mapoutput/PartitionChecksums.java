/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.zip.Checksum;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.location.ChecksumAlgorithm;

/**
 * One checksum per partition of a map output, over the bytes that its file holds.
 *
 * @param values null if and only if the algorithm is NONE
 */
@SuppressWarnings("ArrayRecordComponent")
public record PartitionChecksums(ChecksumAlgorithm algorithm, int @Nullable [] values) {
  private static final int BUFFER_BYTES = 1 << 16;

  public static PartitionChecksums none() {
    return new PartitionChecksums(ChecksumAlgorithm.NONE, null);
  }

  /** Takes the values of Spark's checksum file: one big-endian 64-bit word per partition. */
  public static PartitionChecksums ofSparkFile(
      Path file, ChecksumAlgorithm algorithm, int partitions) throws IOException {
    byte[] bytes = new byte[Math.multiplyExact(partitions, Long.BYTES) + 1];
    int length;
    try (InputStream in = new FileInputStream(file.toFile())) {
      length = in.readNBytes(bytes, 0, bytes.length);
    }
    if (length != bytes.length - 1) {
      throw new IOException(file + " has not the " + (bytes.length - 1) + " bytes of " + partitions
          + " checksums, but " + (length < bytes.length ? length : "more"));
    }
    long[] words = new long[partitions];
    ByteBuffer.wrap(bytes).asLongBuffer().get(words); // at once, as each access to a buffer is slow
    return ofWords(words, algorithm);
  }

  /** Takes the values of {@link Checksum#getValue}, one for each partition. */
  public static PartitionChecksums ofWords(long[] words, ChecksumAlgorithm algorithm) {
    int[] values = new int[words.length];
    for (int i = 0; i < words.length; i++) {
      values[i] = (int) words[i];
    }
    return new PartitionChecksums(algorithm, values);
  }

  /**
   * Computes CRC32C over each partition of the committed file by reading it, never through a
   * mapping: a file cut short is an exception here, not a signal that ends the process.
   */
  public static PartitionChecksums compute(Path dataFile, long[] partitionLengths)
      throws IOException {
    int[] values = new int[partitionLengths.length];
    byte[] buffer = new byte[BUFFER_BYTES];
    int next = 0;
    int end = 0;
    try (InputStream in = new FileInputStream(dataFile.toFile())) {
      Checksum checksum = ChecksumAlgorithm.CRC32C.newChecksum();
      for (int i = 0; i < values.length; i++) {
        checksum.reset();
        long left = partitionLengths[i];
        while (left > 0) {
          if (next == end) {
            next = 0;
            end = in.read(buffer);
            if (end < 0) {
              throw new IOException(dataFile + " ends within partition " + i);
            }
          }
          int length = (int) Math.min(left, end - next);
          checksum.update(buffer, next, length);
          next += length;
          left -= length;
        }
        values[i] = (int) checksum.getValue();
      }
    }
    return new PartitionChecksums(ChecksumAlgorithm.CRC32C, values);
  }
}
