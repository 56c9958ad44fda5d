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
      bytes += sizes.bytesOfLast(keys, values, count);
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
  void whatAllRecordsReferToCountsOnceForASample() {
    byte[] large = new byte[10 << 20];
    long ofItsOwn = RECORDS * 40L;
    assertThat(estimate(i -> List.of(large, i)))
        .isLessThan(ofItsOwn * 10 + RECORDS / 16L * large.length);
  }
}
