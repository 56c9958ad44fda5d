/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class KeyRangesTest {
  @Test
  void partitionsFollowUnsignedKeyOrder() {
    KeyRanges ranges = KeyRanges.ofSample(everyFirstByte(), 4);
    int last = 0;
    for (byte[] key : everyFirstByte()) {
      int partition = ranges.getPartition(key);
      assertThat(partition).isGreaterThanOrEqualTo(last).isLessThan(4);
      last = partition;
    }
    assertThat(last).isEqualTo(3);
  }

  @Test
  void keyEqualToACutPointGoesAboveIt() {
    KeyRanges ranges = KeyRanges.ofSample(List.of(key(1), key(2)), 2);
    assertThat(ranges.getPartition(key(1))).isZero();
    assertThat(ranges.getPartition(key(2))).isEqualTo(1);
  }

  @Test
  void onePartitionTakesEverything() {
    KeyRanges ranges = KeyRanges.ofSample(List.of(key(7)), 1);
    assertThat(ranges.numPartitions()).isEqualTo(1);
    assertThat(ranges.getPartition(key(255))).isZero();
  }

  @Test
  void emptySampleIsRefused() {
    assertThatThrownBy(() -> KeyRanges.ofSample(List.of(), 2))
        .isInstanceOf(IllegalArgumentException.class);
  }

  private static List<byte[]> everyFirstByte() {
    List<byte[]> keys = new ArrayList<>();
    for (int first = 0; first < 256; first++) {
      keys.add(key(first));
    }
    return keys;
  }

  private static byte[] key(int first) {
    byte[] key = new byte[10];
    key[0] = (byte) first;
    return key;
  }
}
