/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SizeClassesTest {
  private static final int SLAB = 16 << 20;
  private final SizeClasses classes = new SizeClasses(SLAB);

  @ParameterizedTest
  @CsvSource({
    "1, 4096, 0",
    "4096, 4096, 0",
    "4097, 5120, 1",
    "5121, 6144, 2",
    "7168, 7168, 3",
    "7169, 8192, 4",
    "8193, 10240, 5",
    "1048576, 1048576, 32",
    "1048577, 1310720, 33",
    "16777216, 16777216, 48"
  })
  void lengthsGoToTheNextClass(long lengthBytes, long bufferBytes, int index) {
    assertThat(classes.bufferBytes(lengthBytes)).isEqualTo(bufferBytes);
    assertThat(classes.indexOf(lengthBytes)).isEqualTo(index);
  }

  @Test
  void noMoreThanAFifthIsLost() {
    for (long length = 4096; length <= SLAB; length += 1023) {
      long bytes = classes.bufferBytes(length);
      assertThat(bytes).isGreaterThanOrEqualTo(length);
      assertThat(bytes - length).isLessThanOrEqualTo(bytes / 5);
      assertThat(classes.indexOf(length)).isBetween(0, classes.count() - 1);
    }
  }

  @Test
  void beyondASlabLengthsAreRoundedToItsEighths() {
    assertThat(classes.isPooled(SLAB + 1)).isFalse();
    assertThat(classes.bufferBytes(SLAB + 1)).isEqualTo(SLAB + (2 << 20));
    assertThat(classes.bufferBytes(5L << 30)).isEqualTo(5L << 30);
  }
}
