/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.Function;

/**
 * The decompressed or decrypted bytes of a block. Where they turn out to be corrupt, the map output has
 * to be computed again, as with Spark's own reader ({@code BufferReleasingInputStream}). Used by one
 * thread at a time.
 */
final class CheckedBlockStream extends FilterInputStream {
  private final Function<IOException, RuntimeException> fetchFailed;

  /** @param fetchFailed throws what corrupt bytes mean for the task */
  CheckedBlockStream(InputStream in, Function<IOException, RuntimeException> fetchFailed) {
    super(in);
    this.fetchFailed = fetchFailed;
  }

  private interface Step<T> {
    T run() throws IOException;
  }

  private <T> T orFetchFailed(Step<T> step) {
    try {
      return step.run();
    } catch (IOException e) {
      throw fetchFailed.apply(e);
    }
  }

  @Override
  public int read() {
    return orFetchFailed(in::read);
  }

  @Override
  public int read(byte[] into, int offset, int length) {
    return orFetchFailed(() -> in.read(into, offset, length));
  }

  @Override
  public long skip(long count) {
    return orFetchFailed(() -> in.skip(count));
  }

  @Override
  public int available() {
    return orFetchFailed(in::available);
  }

  @Override
  public synchronized void reset() {
    orFetchFailed(() -> {
      in.reset();
      return true;
    });
  }
}
