/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import com.esotericsoftware.kryo.DefaultSerializer;
import com.esotericsoftware.kryo.serializers.JavaSerializer;
import java.io.Serializable;

/**
 * A digest of rows, independent of their order and partitions: their number, two sums of their
 * hashes, and whether each was in the right place.
 */
@DefaultSerializer(JavaSerializer.class) // Kryo 4 cannot write records by itself
record Digest(long rows, long sum, long otherSum, boolean inPlace) implements Serializable {
  static final Digest NONE = new Digest(0, 0, 0, true);

  Digest plus(Digest other) {
    return new Digest(
        rows + other.rows, sum + other.sum, otherSum + other.otherSum, inPlace && other.inPlace);
  }

  Digest plusRow(long key, byte[] payload, boolean isInPlace) {
    long hash = mix(key);
    for (byte b : payload) {
      hash = hash * 0x100000001B3L ^ b;
    }
    return plus(new Digest(1, mix(hash), mix(~hash), isInPlace));
  }

  /** The finalizer of splitmix64: every bit of the result depends on every bit of the number. */
  static long mix(long number) {
    long z = number + 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
