/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The name of a block of one map output: {@code shuffle_S_M_R}, or of a contiguous range of them,
 * {@code shuffle_S_M_R0_R1}. Names of all other blocks are not ours to read.
 *
 * @param endPartition exclusive
 */
public record ShuffleBlockName(int shuffleId, long mapId, int startPartition, int endPartition) {
  private static final String PREFIX = "shuffle_";
  private static final int MOST_NUMBERS = 4;
  private static final int MOST_DIGITS = 19;

  /** Spark asks for very many blocks, so this is written out instead of a pattern. */
  static Optional<ShuffleBlockName> parse(String name) {
    if (!name.startsWith(PREFIX)) {
      return Optional.empty();
    }
    long[] numbers = new long[MOST_NUMBERS];
    int count = 0;
    int at = PREFIX.length();
    while (at <= name.length()) {
      int end = name.indexOf('_', at);
      end = end < 0 ? name.length() : end;
      long number = count == MOST_NUMBERS ? -1 : numberIn(name, at, end);
      if (number < 0) {
        return Optional.empty();
      }
      numbers[count++] = number;
      at = end + 1;
    }
    long start = count < 3 ? -1 : numbers[2];
    long end = count == MOST_NUMBERS ? numbers[3] : start + 1;
    if (start < 0
        || numbers[0] > Integer.MAX_VALUE
        || start > Integer.MAX_VALUE
        || end > Integer.MAX_VALUE) {
      return Optional.empty();
    }
    return Optional.of(new ShuffleBlockName((int) numbers[0], numbers[1], (int) start, (int) end));
  }

  /** Returns -1 if the text between the two places is not a number that a long can hold. */
  private static long numberIn(String name, int start, int end) {
    if (end == start || end - start > MOST_DIGITS) {
      return -1;
    }
    long number = 0;
    for (int i = start; i < end; i++) {
      int digit = name.charAt(i) - '0';
      if (digit < 0 || digit > 9 || number < 0) {
        return -1;
      }
      number = 10 * number + digit;
    }
    return number;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ShuffleBlockName that
        && shuffleId == that.shuffleId
        && mapId == that.mapId
        && startPartition == that.startPartition
        && endPartition == that.endPartition;
  }

  @Override
  public int hashCode() {
    return 31 * (31 * Long.hashCode(mapId) + startPartition) + endPartition;
  }
}
