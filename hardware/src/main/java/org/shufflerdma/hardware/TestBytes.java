/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Bytes that follow from a seed and their offset, so that whoever knows the seed can check any. */
record TestBytes(long seed) {
  /** Fills a buffer with the bytes from {@code offset} on; its limit is a multiple of 8. */
  void fill(ByteBuffer buffer, long offset) {
    ByteBuffer words = buffer.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < words.limit(); i += Long.BYTES) {
      words.putLong(i, word(offset + i));
    }
  }

  /**
   * Returns whether these are the bytes from {@code offset} on, a multiple of 8. A rest of less than
   * 8 bytes is not compared.
   */
  boolean are(ByteBuffer read, long offset) {
    ByteBuffer words = read.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    int whole = words.remaining() / Long.BYTES * Long.BYTES;
    for (int i = 0; i < whole; i += Long.BYTES) {
      if (words.getLong(i) != word(offset + i)) {
        return false;
      }
    }
    return true;
  }

  /** The finalizer of SplitMix64: neighbouring inputs give unrelated outputs. */
  private long word(long offset) {
    long z = seed + offset * 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
