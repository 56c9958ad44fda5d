/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.LongSupplier;

/** Counts the bytes that are read from a reader's streams. Used by one thread at a time. */
final class BytesRead implements LongSupplier {
  private long bytes;

  @Override
  public long getAsLong() {
    return bytes;
  }

  /** Returns a stream of the same bytes, which are counted. */
  InputStream of(InputStream in) {
    return new FilterInputStream(in) {
      @Override
      public int read() throws IOException {
        int read = in.read();
        bytes += read < 0 ? 0 : 1;
        return read;
      }

      @Override
      public int read(byte[] into, int offset, int length) throws IOException {
        int read = in.read(into, offset, length);
        bytes += Math.max(0, read);
        return read;
      }

      @Override
      public long skip(long count) throws IOException {
        long skipped = in.skip(count);
        bytes += skipped;
        return skipped;
      }
    };
  }
}
