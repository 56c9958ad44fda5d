/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The name of a block of one map output: {@code shuffle_S_M_R}, or of a contiguous range of them,
 * {@code shuffle_S_M_R0_R1}. Names of all other blocks are not ours to read.
 *
 * @param endPartition exclusive
 */
public record ShuffleBlockName(int shuffleId, long mapId, int startPartition, int endPartition) {
  private static final Pattern FORM =
      Pattern.compile("shuffle_(\\d{1,10})_(\\d{1,19})_(\\d{1,10})(?:_(\\d{1,10}))?");

  static Optional<ShuffleBlockName> parse(String name) {
    Matcher matcher = FORM.matcher(name);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    try {
      int start = Integer.parseInt(matcher.group(3));
      String end = matcher.group(4);
      return Optional.of(new ShuffleBlockName(
          Integer.parseInt(matcher.group(1)),
          Long.parseLong(matcher.group(2)),
          start,
          end == null ? Math.addExact(start, 1) : Integer.parseInt(end)));
    } catch (NumberFormatException | ArithmeticException e) {
      return Optional.empty();
    }
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
