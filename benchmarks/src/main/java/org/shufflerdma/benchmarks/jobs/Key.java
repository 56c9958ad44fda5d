/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import java.io.Serializable;
import java.util.Arrays;
import java.util.zip.Checksum;

/** A key of ten printable bytes, ordered as TeraSort orders its keys. */
final class Key implements Comparable<Key>, Serializable {
  private static final long serialVersionUID = 1L;
  private static final int BYTES = 10;
  private static final int FIRST = ' ';
  private static final int PRINTABLE = 95;

  /** The bytes that {@link #rank} looks at, and how many ranks there are. */
  private static final int RANKED_BYTES = 4;

  static final long RANKS = (long) PRINTABLE * PRINTABLE * PRINTABLE * PRINTABLE;

  private final byte[] bytes;

  /** For Kryo, which fills the field. */
  @SuppressWarnings("unused")
  private Key() {
    this(new byte[0]);
  }

  private Key(byte[] bytes) {
    this.bytes = bytes;
  }

  /** A key that looks random and is the same for each use of the number. */
  static Key ofNumber(long number) {
    byte[] bytes = new byte[BYTES];
    long first = mix(2 * number);
    long second = mix(2 * number + 1);
    for (int i = 0; i < BYTES; i++) {
      long random = i < Long.BYTES ? first >>> (8 * i) : second >>> (8 * (i - Long.BYTES));
      bytes[i] = (byte) (FIRST + (((random & 0xFF) * PRINTABLE) >>> 8));
    }
    return new Key(bytes);
  }

  /** The finalizer of splitmix64: every bit of the result depends on every bit of the number. */
  static long mix(long number) {
    long z = number + 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** The place of the key's first bytes among all, from 0 to before {@link #RANKS}. */
  long rank() {
    long rank = 0;
    for (int i = 0; i < RANKED_BYTES; i++) {
      rank = rank * PRINTABLE + bytes[i] - FIRST;
    }
    return rank;
  }

  void update(Checksum checksum) {
    checksum.update(bytes, 0, bytes.length);
  }

  @Override
  public int compareTo(Key other) {
    return Arrays.compareUnsigned(bytes, other.bytes);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Key key && Arrays.equals(bytes, key.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }
}
