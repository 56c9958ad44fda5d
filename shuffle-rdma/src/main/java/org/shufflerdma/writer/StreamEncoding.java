/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.writer;

import java.io.IOException;
import java.io.OutputStream;
import java.util.function.UnaryOperator;

/** Keeps the serialized bytes as they are, and has Spark compress and encrypt them when their block is written. */
record StreamEncoding(UnaryOperator<OutputStream> sparks) implements BlockEncoding {
  private static final int MOST_BYTES = 32 << 10;

  @Override
  public int mostBytes() {
    return MOST_BYTES;
  }

  @Override
  public void encode(byte[] bytes, int length, OutputStream kept) throws IOException {
    kept.write(bytes, 0, length);
  }

  @Override
  public OutputStream open(OutputStream file) {
    return sparks.apply(file);
  }
}
