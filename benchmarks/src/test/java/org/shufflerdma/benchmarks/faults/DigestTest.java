/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class DigestTest {
  private static final byte[] PAYLOAD = {1, 2, 3};

  @Test
  void neitherTheOrderOfRowsNorHowTheyAreSplitMatters() {
    Digest one = Digest.NONE.plusRow(1, PAYLOAD, true).plusRow(2, PAYLOAD, true);
    Digest two = Digest.NONE
        .plus(Digest.NONE.plusRow(2, PAYLOAD, true))
        .plus(Digest.NONE.plusRow(1, PAYLOAD, true));
    assertThat(one).isEqualTo(two);
  }

  @Test
  void whatIsNotTheSameIsSeen() {
    Digest right = Digest.NONE.plusRow(1, PAYLOAD, true);
    assertThat(right)
        .isNotEqualTo(Digest.NONE)
        .isNotEqualTo(right.plus(right))
        .isNotEqualTo(Digest.NONE.plusRow(2, PAYLOAD, true))
        .isNotEqualTo(Digest.NONE.plusRow(1, new byte[] {1, 2, 2}, true))
        .isNotEqualTo(Digest.NONE.plusRow(1, PAYLOAD, false));
  }

  @Test
  void ofShapesThatOnlyMoveRowsNoneIsLost() {
    assertThat(Shape.SORTED.expected().rows()).isEqualTo(20_000);
    assertThat(Shape.COMBINED.expected().rows()).isEqualTo(1_009);
  }
}
