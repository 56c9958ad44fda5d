/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class KeyRangeTest {
  @Test
  void rangesAreInTheOrderOfTheirKeysAndAboutEquallyFull() {
    KeyRange range = new KeyRange(8);
    int[] keys = new int[8];
    int last = 0;
    for (Key key : LongStream.range(0, 80_000).mapToObj(Key::ofNumber).sorted().toList()) {
      int partition = range.getPartition(key);
      assertThat(partition).isGreaterThanOrEqualTo(last);
      last = partition;
      keys[partition]++;
    }
    assertThat(Arrays.stream(keys).boxed())
        .allSatisfy(count -> assertThat(count).isBetween(8_000, 12_000));
  }
}
