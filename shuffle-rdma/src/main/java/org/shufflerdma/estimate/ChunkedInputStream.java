/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import io.airlift.compress.lz4.Lz4Decompressor;
import io.airlift.compress.snappy.SnappyDecompressor;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/**
 * Decodes the streams of which each chunk has its length before it, as Spark's codecs lz4 ({@code LZ4BlockOutputStream} of
 * lz4-java) and snappy ({@code SnappyOutputStream} of snappy-java) write them. Several streams may follow one another. One
 * thread uses it; it closes the stream from which it reads.
 */
abstract class ChunkedInputStream extends InputStream {
  /** The largest block of lz4-java. */
  private static final int MOST_BYTES = 32 << 20;

  private final DataInputStream in;
  private byte[] packed = new byte[0];
  private byte[] chunk = new byte[0];
  private int position;
  private int limit;

  private ChunkedInputStream(InputStream in) {
    this.in = new DataInputStream(in);
  }

  /** Reads a header, given its first byte, and the chunk after it, if there is one. */
  abstract void next(int firstByte, DataInputStream in) throws IOException;

  /** Reads so many bytes, which are valid until the next call. */
  final byte[] packed(int length) throws IOException {
    if (packed.length < checked(length)) {
      packed = new byte[length];
    }
    in.readFully(packed, 0, length);
    return packed;
  }

  /** Makes room for a chunk of so many bytes, which is then what is read. */
  final byte[] chunk(int length) throws IOException {
    if (chunk.length < checked(length)) {
      chunk = new byte[length];
    }
    position = 0;
    limit = length;
    return chunk;
  }

  private static int checked(int length) throws IOException {
    if (length < 0 || length > MOST_BYTES) {
      throw new IOException("a block has a length of " + length + " bytes");
    }
    return length;
  }

  @Override
  public final int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public final int read(byte[] bytes, int offset, int length) throws IOException {
    while (position == limit) {
      int first = in.read();
      if (first < 0) {
        return -1;
      }
      next(first, in);
    }
    int count = Math.min(length, limit - position);
    System.arraycopy(chunk, position, bytes, offset, count);
    position += count;
    return count;
  }

  @Override
  public final void close() throws IOException {
    in.close();
  }

  /** Magic (8), token, bytes packed, bytes, checksum (4 each, little endian). What has no bytes ends a stream. */
  static final class Lz4 extends ChunkedInputStream {
    private static final int METHODS = 0xf0;
    private static final int RAW = 0x10;
    private static final int LZ4 = 0x20;

    private final Lz4Decompressor decompressor = new Lz4Decompressor();

    Lz4(InputStream in) {
      super(in);
    }

    @Override
    void next(int firstByte, DataInputStream in) throws IOException {
      byte[] magic = new byte[Codec.LZ4_MAGIC.length];
      magic[0] = (byte) firstByte;
      in.readFully(magic, 1, magic.length - 1);
      if (!Arrays.equals(magic, Codec.LZ4_MAGIC)) {
        throw new IOException("a block of lz4 has a wrong header");
      }
      int method = in.readUnsignedByte() & METHODS;
      int packedLength = Integer.reverseBytes(in.readInt());
      int length = Integer.reverseBytes(in.readInt());
      in.readInt(); // The checksum: damaged bytes are no JSON.
      byte[] packed = packed(packedLength);
      byte[] chunk = chunk(length);
      if (method == RAW && packedLength == length) {
        System.arraycopy(packed, 0, chunk, 0, length);
      } else if (method != LZ4
          || decompressor.decompress(packed, 0, packedLength, chunk, 0, length) != length) {
        throw new IOException("a block of lz4 is damaged");
      }
    }
  }

  /** A header of 16 bytes, and then each block after its length (4, big endian). */
  static final class Snappy extends ChunkedInputStream {
    private static final int HEADER_BYTES = 16;

    private final SnappyDecompressor decompressor = new SnappyDecompressor();

    Snappy(InputStream in) {
      super(in);
    }

    @Override
    void next(int firstByte, DataInputStream in) throws IOException {
      if (firstByte == (Codec.SNAPPY_MAGIC[0] & 0xff)) {
        in.skipNBytes(HEADER_BYTES - 1);
        return;
      }
      int packedLength = firstByte << 24
          | in.readUnsignedByte() << 16
          | in.readUnsignedByte() << 8
          | in.readUnsignedByte();
      byte[] packed = packed(packedLength);
      if (packedLength == 0) {
        throw new EOFException("a block of snappy is empty");
      }
      int length = SnappyDecompressor.getUncompressedLength(packed, 0);
      byte[] chunk = chunk(length);
      if (decompressor.decompress(packed, 0, packedLength, chunk, 0, length) != length) {
        throw new IOException("a block of snappy is damaged");
      }
    }
  }
}
