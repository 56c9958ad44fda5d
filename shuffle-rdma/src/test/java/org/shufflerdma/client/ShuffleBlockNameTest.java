/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShuffleBlockNameTest {
  @Test
  void theNamesOfSparksIdsAreUnderstood() {
    assertThat(ShuffleBlockName.parse(new ShuffleBlockId(4, 5_000_000_000L, 6).name()))
        .contains(new ShuffleBlockName(4, 5_000_000_000L, 6, 7));
    assertThat(ShuffleBlockName.parse(new ShuffleBlockBatchId(4, Long.MAX_VALUE, 6, 9).name()))
        .contains(new ShuffleBlockName(4, Long.MAX_VALUE, 6, 9));
    assertThat(ShuffleBlockName.parse("shuffle_2147483647_0_2147483646"))
        .contains(new ShuffleBlockName(Integer.MAX_VALUE, 0, 2147483646, Integer.MAX_VALUE));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "shuffle_",
        "shuffle_1_2",
        "shuffle_1_2_",
        "shuffle_1__3",
        "shuffle_1_2_3_",
        "shuffle_1_2_3_4_5",
        "shuffle_1_2_-3",
        "shuffle_1_2_3x",
        "shuffle_1_2_\u0663",
        "shuffle_2147483648_2_3",
        "shuffle_1_9223372036854775808_3",
        "shuffle_1_99999999999999999999_3",
        "shuffle_1_2_2147483647",
        "shuffle_1_2_3_2147483648",
        "shuffle_1_2_3.data",
        "shuffleChunk_4_0_1_2",
        "rdd_1_2"
      })
  void otherNamesAreNot(String name) {
    assertThat(ShuffleBlockName.parse(name)).isEmpty();
  }
}
