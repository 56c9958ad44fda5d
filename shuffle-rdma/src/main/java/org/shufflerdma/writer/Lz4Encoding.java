/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.function.UnaryOperator;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.xxhash.XXHash32;
import net.jpountz.xxhash.XXHashFactory;

/**
 * Compresses as Spark's {@code LZ4CompressionCodec} does, with one buffer for all partitions of a task where that has two and
 * a hash with native state for each. The bytes are those of lz4-java's {@code LZ4BlockOutputStream}: frames of a magic word,
 * a byte with the method and the size of blocks, the lengths of the compressed and the plain bytes and the lowest 28 bits of
 * the plain bytes' XXH32 (all little-endian), and the compressed bytes. A frame without bytes ends the block.
 */
final class Lz4Encoding implements BlockEncoding {
  private static final byte[] MAGIC = "LZ4Block".getBytes(StandardCharsets.US_ASCII);
  private static final int METHOD_AT = MAGIC.length;
  private static final int COMPRESSED_LENGTH_AT = METHOD_AT + 1;
  private static final int LENGTH_AT = COMPRESSED_LENGTH_AT + Integer.BYTES;
  private static final int HASH_AT = LENGTH_AT + Integer.BYTES;
  private static final int HEADER = HASH_AT + Integer.BYTES;

  private static final int STORED = 0x10;
  private static final int COMPRESSED = 0x20;
  private static final int SMALLEST_LEVEL_BITS = 10;
  private static final int LEAST_BYTES = 64;
  private static final int MOST_BYTES = 1 << 25;
  private static final int SEED = 0x9747b28c;
  private static final int HASH_MASK = 0x0FFFFFFF;

  private final int mostBytes;
  private final int level;
  private final UnaryOperator<OutputStream> encryption;
  private final LZ4Compressor compressor = LZ4Factory.fastestInstance().fastCompressor();
  private final XXHash32 hash = XXHashFactory.fastestInstance().hash32();
  private final byte[] frame;
  private final ByteBuffer header;

  /**
   * @param mostBytes of a frame, Spark's {@code spark.io.compression.lz4.blockSize}; {@link #accepts} it
   * @param encryption Spark's, of a block; it returns its argument if there is none
   */
  Lz4Encoding(int mostBytes, UnaryOperator<OutputStream> encryption) {
    this.mostBytes = mostBytes;
    this.encryption = encryption;
    int bits = Integer.SIZE - Integer.numberOfLeadingZeros(mostBytes - 1);
    level = Math.max(0, bits - SMALLEST_LEVEL_BITS);
    frame = new byte[HEADER + compressor.maxCompressedLength(mostBytes)];
    System.arraycopy(MAGIC, 0, frame, 0, MAGIC.length);
    header = ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Whether {@code LZ4BlockOutputStream} would make frames of so many bytes. */
  static boolean accepts(long mostBytes) {
    return mostBytes >= LEAST_BYTES && mostBytes <= MOST_BYTES;
  }

  @Override
  public int mostBytes() {
    return mostBytes;
  }

  @Override
  public void encode(byte[] bytes, int length, OutputStream kept) throws IOException {
    int compressed = compressor.compress(bytes, 0, length, frame, HEADER);
    int method = COMPRESSED;
    if (compressed >= length) {
      System.arraycopy(bytes, 0, frame, HEADER, length);
      compressed = length;
      method = STORED;
    }
    writeFrame(method, compressed, length, hash.hash(bytes, 0, length, SEED) & HASH_MASK, kept);
  }

  private void writeFrame(int method, int compressed, int length, int hashed, OutputStream to)
      throws IOException {
    header
        .put(METHOD_AT, (byte) (method | level))
        .putInt(COMPRESSED_LENGTH_AT, compressed)
        .putInt(LENGTH_AT, length)
        .putInt(HASH_AT, hashed);
    to.write(frame, 0, HEADER + compressed);
  }

  @Override
  public OutputStream open(OutputStream file) {
    return new FilterOutputStream(encryption.apply(file)) {
      @Override
      public void write(byte[] bytes, int offset, int length) throws IOException {
        out.write(bytes, offset, length);
      }

      @Override
      public void close() throws IOException {
        writeFrame(STORED, 0, 0, 0, out);
        out.close();
      }
    };
  }
}
