/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.function.UnaryOperator;
import org.apache.spark.network.util.LimitedInputStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The spilled bytes of all partitions of a map task: a segment for each partition and spill, encrypted by itself where Spark
 * encrypts its files. Not thread-safe. Closing it deletes the file.
 */
final class SpillFile implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SpillFile.class);

  private static final int BUFFER_BYTES = 256 << 10;
  private static final int COPY_BYTES = 64 << 10;
  private static final int FIRST_SEGMENTS = 4;

  /** Makes the file of a task when it spills for the first time. */
  interface Maker {
    SpillFile make(int partitions) throws IOException;
  }

  private final File file;
  private final UnaryOperator<OutputStream> encryption;
  private final UnaryOperator<InputStream> decryption;
  private final End end;

  /** Offset and length of each segment of a partition, one after the other. */
  private final long[][] segments;

  private final int[] counts;

  private @Nullable FileInputStream in;

  /**
   * Truncates the file. If that fails the file is deleted, since Spark may have made it already.
   *
   * @param encryption Spark's, which returns its argument if there is none, as does {@code decryption}
   */
  SpillFile(
      File file,
      int partitions,
      UnaryOperator<OutputStream> encryption,
      UnaryOperator<InputStream> decryption)
      throws IOException {
    this.file = file;
    this.encryption = encryption;
    this.decryption = decryption;
    this.segments = new long[partitions][];
    this.counts = new int[partitions];
    try {
      this.end = new End(new FileOutputStream(file));
    } catch (IOException e) {
      file.delete();
      throw e;
    }
  }

  /** The end of the file. Closing it ends a segment. */
  private static final class End extends FilterOutputStream {
    private long offset;

    End(FileOutputStream file) {
      super(new BufferedOutputStream(file, BUFFER_BYTES));
    }

    @Override
    public void write(int value) throws IOException {
      out.write(value);
      offset++;
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      out.write(bytes, from, length);
      offset += length;
    }

    @Override
    public void close() {}

    void closeFile() throws IOException {
      out.close();
    }
  }

  /** Returns a stream for more bytes of a partition, which must be closed before the next one is opened. */
  OutputStream append(int partition) {
    long offset = end.offset;
    return new FilterOutputStream(encryption.apply(end)) {
      @Override
      public void write(byte[] bytes, int from, int length) throws IOException {
        out.write(bytes, from, length);
      }

      @Override
      public void close() throws IOException {
        out.close();
        add(partition, offset, end.offset - offset);
      }
    };
  }

  private void add(int partition, long offset, long lengthBytes) {
    long[] known = segments[partition];
    int count = counts[partition];
    if (known == null || known.length == count) {
      known = known == null ? new long[FIRST_SEGMENTS] : Arrays.copyOf(known, 2 * count);
      segments[partition] = known;
    }
    known[count] = offset;
    known[count + 1] = lengthBytes;
    counts[partition] = count + 2;
  }

  long lengthBytes() {
    return end.offset;
  }

  boolean isEmpty(int partition) {
    return counts[partition] == 0;
  }

  /** Copies what was appended for a partition. Nothing may be appended afterwards. */
  void copyTo(int partition, OutputStream to) throws IOException {
    FileInputStream from = in;
    if (from == null) {
      end.closeFile();
      from = new FileInputStream(file);
      in = from;
    }
    byte[] copied = new byte[COPY_BYTES];
    for (int i = 0; i < counts[partition]; i += 2) {
      long offset = segments[partition][i];
      long lengthBytes = segments[partition][i + 1];
      from.getChannel().position(offset);
      try (InputStream segment = decryption.apply(
          new LimitedInputStream(from, lengthBytes, false))) { // which leaves the file open
        for (int count = segment.read(copied); count >= 0; count = segment.read(copied)) {
          to.write(copied, 0, count);
        }
      }
      if (from.getChannel().position() != offset + lengthBytes) {
        throw new EOFException(file + " ends before " + (offset + lengthBytes)
            + ", although so many bytes of map output were spilled to it");
      }
    }
  }

  @Override
  public void close() {
    try {
      end.closeFile(); // again, if it has been read
      if (in != null) {
        in.close();
      }
    } catch (IOException e) {
      LOG.warn("The file {} of spilled map output could not be closed", file, e);
    } finally {
      file.delete();
    }
  }
}
