/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sorter;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

class RecordSizesTest {
  private static final int RECORDS = 20_000;

  private static long estimate(IntFunction<Object> value) {
    RecordSizes sizes = new RecordSizes();
    Object[] keys = new Object[RECORDS];
    Object[] values = new Object[RECORDS];
    long bytes = 0;
    for (int count = 1; count <= RECORDS; count++) {
      keys[count - 1] = "key";
      values[count - 1] = value.apply(count);
      bytes += sizes.change(keys, values, count);
    }
    return bytes;
  }

  @Test
  void recordsOfOneSizeAreEstimatedWithinATenth() {
    long bytes = RECORDS * (2 * 4L + 16 + 1000); // two references, and the array's header
    assertThat(estimate(i -> new byte[1000])).isBetween(bytes, bytes + bytes / 10);
  }

  @Test
  void sizesThatVaryAreEstimatedWithinATenth() {
    long bytes = RECORDS / 2 * (4 * 4L + 16 + 1000 + 16);
    assertThat(estimate(i -> new byte[i * 31 % 1000])).isBetween(bytes * 9 / 10, bytes * 11 / 10);
  }

  @Test
  void sizesThatChangeAreEstimatedWithinATenth() {
    int small = 5000;
    long bytes = RECORDS * (2 * 4L + 16 + 100) + (RECORDS - small) * 10_000L;
    assertThat(estimate(i -> new byte[i <= small ? 100 : 10_100]))
        .isBetween(bytes * 9 / 10, bytes * 11 / 10);
  }

  @Test
  void whatAllRecordsReferToCountsAsNothing() {
    byte[] large = new byte[10 << 20];
    long ofItsOwn = RECORDS * (2 * 4L + 24 + 16); // two references, a list, and an integer
    assertThat(estimate(i -> List.of(large, 1000 + i))).isBetween(ofItsOwn, 2 * ofItsOwn);
  }
}
