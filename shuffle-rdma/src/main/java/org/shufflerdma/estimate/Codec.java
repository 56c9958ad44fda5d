/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.ning.compress.lzf.LZFInputStream;
import com.ning.compress.lzf.util.ChunkDecoderFactory;
import io.airlift.compress.zstd.ZstdInputStream;
import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Opens files of event logs, whichever of Spark's codecs has compressed them. The first bytes tell the codec, as users
 * rename files.
 */
final class Codec {
  static final byte[] LZ4_MAGIC = "LZ4Block".getBytes(US_ASCII);
  static final byte[] SNAPPY_MAGIC = {(byte) 0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
  private static final byte[] ZSTD_MAGIC = {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd};
  private static final byte[] LZF_MAGIC = {'Z', 'V'};
  private static final byte[] GZIP_MAGIC = {0x1f, (byte) 0x8b};

  private Codec() {}

  /** Returns the text of the file, to be closed by the caller. An empty file is an empty log. */
  static InputStream open(Path file) throws IOException, RefusedException {
    Counted counted = new Counted(Files.newInputStream(file));
    try {
      BufferedInputStream in = new BufferedInputStream(counted, 1 << 16);
      in.mark(SNAPPY_MAGIC.length);
      byte[] first = in.readNBytes(SNAPPY_MAGIC.length);
      in.reset();
      if (first.length == 0 || first[0] == '{') {
        return in;
      }
      return new Decoded(decoder(file, in, first), counted);
    } catch (IOException | RefusedException e) {
      counted.close();
      throw e;
    }
  }

  private static InputStream decoder(Path file, InputStream in, byte[] first)
      throws IOException, RefusedException {
    if (begins(first, ZSTD_MAGIC)) {
      return new ZstdInputStream(in);
    } else if (begins(first, LZ4_MAGIC)) {
      return new ChunkedInputStream.Lz4(in);
    } else if (begins(first, SNAPPY_MAGIC)) {
      return new ChunkedInputStream.Snappy(in);
    } else if (begins(first, LZF_MAGIC)) {
      return new LZFInputStream(ChunkDecoderFactory.safeInstance(), in);
    }
    throw new RefusedException(
        file
            + (begins(first, GZIP_MAGIC)
                ? ": Spark does not write event logs with gzip; gunzip it first"
                : ": this is no event log, as it begins neither with JSON nor as zstd, lz4, snappy and lzf do"));
  }

  private static boolean begins(byte[] bytes, byte[] magic) {
    for (int i = 0; i < magic.length; i++) {
      if (i == bytes.length || bytes[i] != magic[i]) {
        return false;
      }
    }
    return true;
  }

  /** Counts what is read from the file. */
  private static final class Counted extends FilterInputStream {
    private long bytes;

    Counted(InputStream in) {
      super(in);
    }

    @Override
    public int read() throws IOException {
      int read = super.read();
      bytes += read < 0 ? 0 : 1;
      return read;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      int read = super.read(into, offset, length);
      bytes += Math.max(0, read);
      return read;
    }
  }

  /** Turns what decoders throw for damaged bytes into IOExceptions, and ends what expands without end. */
  private static final class Decoded extends FilterInputStream {
    private static final long UNBOUNDED_BYTES = 256L << 20;

    /** Event logs are known to shrink by factors of ten to a hundred. */
    private static final long MOST_EXPANSION = 1000;

    private final Counted packed;
    private long bytes;

    Decoded(InputStream in, Counted packed) {
      super(in);
      this.packed = packed;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      try {
        int read = super.read(into, offset, length);
        bytes += Math.max(0, read);
        if (bytes > UNBOUNDED_BYTES && bytes / MOST_EXPANSION > packed.bytes) {
          throw new IOException(
              "what is compressed in it expands more than " + MOST_EXPANSION + " times");
        }
        return read;
      } catch (RuntimeException e) {
        throw new IOException("its compressed bytes are damaged or cut: " + e.getMessage(), e);
      }
    }
  }
}
