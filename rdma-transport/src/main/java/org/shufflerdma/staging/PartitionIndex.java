/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.zip.CRC32;

/**
 * Says where the partitions lie in the file of a map output, by its index, of which a window stays in memory: the neighbours of a
 * partition are those that are asked for next. Any thread may call.
 */
abstract sealed class PartitionIndex {
  /** So many partitions' records stay in memory. */
  private static final int WINDOW = 64;

  /**
   * Where partitions lie in the file, and what comes before them when they are read.
   *
   * @param head a part of the block that is not in the file
   */
  @SuppressWarnings("ArrayRecordComponent")
  record Extent(long start, long lengthInFile, byte[] head) {
    static Extent of(long start, long lengthInFile) {
      return new Extent(start, lengthInFile, NO_HEAD);
    }

    /** Of the block, with its head. */
    long lengthBytes() {
      return head.length + lengthInFile;
    }
  }

  private static final byte[] NO_HEAD = {};

  private final FileChannel file;
  private final int recordBytes;
  private final int records;

  /** Replaced as a whole. */
  private volatile Window window = new Window(0, ByteBuffer.allocate(0));

  private record Window(int first, ByteBuffer bytes) {}

  private PartitionIndex(FileChannel file, int recordBytes, int records) {
    this.file = file;
    this.recordBytes = recordBytes;
    this.records = records;
  }

  /** Reads what the index says of itself. Throws if it does not fit a file of so many bytes. */
  static PartitionIndex open(CommittedOutputs.Files files) throws IOException {
    long dataBytes = files.data().size();
    return switch (files.layout()) {
      case OFFSETS -> new Offsets(files.index(), dataBytes);
      case SPILL_RECORD -> new SpillRecord(files.index(), dataBytes);
    };
  }

  /** Where the partitions lie in the file; throws if the output does not have them. */
  abstract Extent extentOf(int startPartition, int endPartition) throws IOException;

  /** One of the numbers of a record. */
  final long number(int record, int field) throws IOException {
    Window known = window;
    if (record < known.first || (record - known.first + 1) * recordBytes > known.bytes.limit()) {
      int first = record - record % WINDOW;
      ByteBuffer read = ByteBuffer.allocate(Math.min(WINDOW + 1, records - first) * recordBytes);
      fill(file, read, (long) first * recordBytes);
      known = new Window(first, read.flip());
      window = known;
    }
    return known.bytes.getLong((record - known.first) * recordBytes + field * Long.BYTES);
  }

  /** Fills the buffer with the bytes from {@code position} on. */
  static void fill(FileChannel file, ByteBuffer into, long position) throws IOException {
    long at = position;
    while (into.hasRemaining()) {
      int count = file.read(into, at);
      if (count < 0) {
        throw new EOFException("the file ends at byte " + at);
      }
      at += count;
    }
  }

  private static Extent checked(long start, long end, long dataBytes, byte[] head)
      throws IOException {
    if (start < 0 || end < start || end > dataBytes) {
      throw new IOException("the index is damaged: bytes " + start + " to " + end);
    }
    return new Extent(start, end - start, head);
  }

  /** That of Spark ({@code IndexShuffleBlockResolver}): the offset of each partition, and the end of the last one. */
  private static final class Offsets extends PartitionIndex {
    private final int partitions;
    private final long dataBytes;

    Offsets(FileChannel file, long dataBytes) throws IOException {
      super(file, Long.BYTES, Math.toIntExact(file.size() / Long.BYTES));
      if (file.size() < 2 * Long.BYTES || file.size() % Long.BYTES != 0) {
        throw new IOException("an index of " + file.size() + " bytes");
      }
      this.partitions = Math.toIntExact(file.size() / Long.BYTES - 1);
      this.dataBytes = dataBytes;
      long end = number(partitions, 0);
      if (end != dataBytes) {
        throw new IOException("the file has " + dataBytes + " bytes, and its index says " + end);
      }
    }

    @Override
    Extent extentOf(int startPartition, int endPartition) throws IOException {
      if (endPartition > partitions) {
        throw new IOException("partition " + endPartition + " of " + partitions);
      }
      return checked(number(startPartition, 0), number(endPartition, 0), dataBytes, NO_HEAD);
    }
  }

  /**
   * That of MapReduce and of Tez ({@code org.apache.hadoop.mapred.SpillRecord}): start, length without compression and length in the
   * file of each partition, and at last a CRC32 of all. A partition is read with its length without compression before it, in
   * eight bytes, which its reader needs as well.
   */
  private static final class SpillRecord extends PartitionIndex {
    private static final int RECORD_BYTES = 3 * Long.BYTES;
    private static final int STEP_BYTES = 8 << 10;

    /** More than any job has; all of them are read before the first. */
    private static final int MAX_PARTITIONS = 1 << 20;

    private final int partitions;
    private final long dataBytes;

    SpillRecord(FileChannel file, long dataBytes) throws IOException {
      super(file, RECORD_BYTES, (int) Math.min(file.size() / RECORD_BYTES, MAX_PARTITIONS));
      if (file.size() % RECORD_BYTES != Long.BYTES || file.size() / RECORD_BYTES > MAX_PARTITIONS) {
        throw new IOException("an index of " + file.size() + " bytes");
      }
      this.partitions = Math.toIntExact(file.size() / RECORD_BYTES);
      this.dataBytes = dataBytes;
      verify(file, (long) partitions * RECORD_BYTES);
    }

    private static void verify(FileChannel file, long bytes) throws IOException {
      CRC32 crc = new CRC32();
      ByteBuffer step = ByteBuffer.allocate(STEP_BYTES);
      for (long at = 0; at < bytes; at += STEP_BYTES) {
        step.clear().limit((int) Math.min(STEP_BYTES, bytes - at));
        fill(file, step, at);
        crc.update(step.flip());
      }
      step.clear().limit(Long.BYTES);
      fill(file, step, bytes);
      if (step.getLong(0) != crc.getValue()) {
        throw new IOException("the checksum of the index is wrong");
      }
    }

    @Override
    Extent extentOf(int startPartition, int endPartition) throws IOException {
      if (endPartition != startPartition + 1 || endPartition > partitions) {
        throw new IOException(
            "partitions " + startPartition + " to " + endPartition + " of " + partitions);
      }
      long start = number(startPartition, 0);
      byte[] head =
          ByteBuffer.allocate(Long.BYTES).putLong(number(startPartition, 1)).array();
      return checked(start, start + number(startPartition, 2), dataBytes, head);
    }
  }
}
