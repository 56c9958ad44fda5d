/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
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
  private static final int BUFFER_BYTES = 1 << 18;

  public static PartitionChecksums none() {
    return new PartitionChecksums(ChecksumAlgorithm.NONE, null);
  }

  /** Takes the values of Spark's checksum file: one big-endian 64-bit word per partition. */
  public static PartitionChecksums ofSparkFile(
      Path file, ChecksumAlgorithm algorithm, int partitions) throws IOException {
    long expectedBytes = (long) partitions * Long.BYTES;
    long actualBytes = Files.size(file);
    if (actualBytes != expectedBytes) {
      throw new IOException(file + " has " + actualBytes + " bytes, not " + expectedBytes);
    }
    int[] values = new int[partitions];
    try (DataInputStream in = new DataInputStream(Files.newInputStream(file))) {
      byte[] bytes = in.readNBytes(Math.toIntExact(expectedBytes));
      java.nio.LongBuffer words = java.nio.ByteBuffer.wrap(bytes).asLongBuffer();
      for (int i = 0; i < partitions; i++) {
        values[i] = (int) words.get(i);
      }
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
    try (InputStream in = new FileInputStream(dataFile.toFile())) {
      Checksum checksum = ChecksumAlgorithm.CRC32C.newChecksum();
      for (int i = 0; i < values.length; i++) {
        checksum.reset();
        long left = partitionLengths[i];
        while (left > 0) {
          int read = in.read(buffer, 0, (int) Math.min(left, buffer.length));
          if (read < 0) {
            throw new IOException(dataFile + " ends within partition " + i);
          }
          checksum.update(buffer, 0, read);
          left -= read;
        }
        values[i] = (int) checksum.getValue();
      }
    }
    return new PartitionChecksums(ChecksumAlgorithm.CRC32C, values);
  }
}
