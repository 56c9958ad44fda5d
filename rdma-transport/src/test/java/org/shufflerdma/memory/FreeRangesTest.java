/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class FreeRangesTest {
  private final FreeRanges ranges = new FreeRanges(1024);

  @Test
  void rangesThatComeBackInAnyOrderMerge() {
    long a = ranges.take(256);
    long b = ranges.take(512);
    long c = ranges.take(256);
    assertThat(ranges.take(1)).isEqualTo(-1);
    ranges.giveBack(b, 512);
    ranges.giveBack(a, 256);
    ranges.giveBack(c, 256);
    assertThat(ranges.isAllFree()).isTrue();
    assertThat(ranges.take(1024)).isZero();
  }

  @Test
  void aRangeThatComesBackTwiceIsADefect() {
    long a = ranges.take(256);
    ranges.giveBack(a, 256);
    assertThatThrownBy(() -> ranges.giveBack(a, 256)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> ranges.giveBack(1000, 256)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void rangesNeverOverlap() {
    long seed = 20261120;
    Random random = new Random(seed);
    boolean[] taken = new boolean[1024];
    List<long[]> held = new ArrayList<>();
    for (int step = 0; step < 5_000; step++) {
      if (random.nextBoolean()) {
        int length = 1 + random.nextInt(100);
        long at = ranges.take(length);
        for (int i = 0; at >= 0 && i < length; i++) {
          assertThat(taken[(int) at + i]).as("seed %d step %d", seed, step).isFalse();
          taken[(int) at + i] = true;
        }
        if (at >= 0) {
          held.add(new long[] {at, length});
        }
      } else if (!held.isEmpty()) {
        long[] range = held.remove(random.nextInt(held.size()));
        ranges.giveBack(range[0], range[1]);
        for (int i = 0; i < range[1]; i++) {
          taken[(int) range[0] + i] = false;
        }
      }
    }
    held.forEach(range -> ranges.giveBack(range[0], range[1]));
    assertThat(ranges.isAllFree()).isTrue();
  }
}
