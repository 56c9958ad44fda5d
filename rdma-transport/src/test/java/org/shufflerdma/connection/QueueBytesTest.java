/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The tables of docs/scaling.md, with pages of 4 KiB. */
class QueueBytesTest {
  private static final QueueDepths DEPTHS = new QueueDepths(256, 64);
  private static final long KIB = 1 << 10;
  private static final QueueBytes BYTES = new QueueBytes(4 * KIB);

  @ParameterizedTest
  @CsvSource({
    "1, 4", "32, 4", "33, 8", "64, 8", "128, 12", "256, 20", "257, 36", "300, 36", "512, 36"
  })
  void aQueuePairHasPagesOfItsOwn(int slots, long kib) {
    assertThat(BYTES.ofQueuePair(slots)).isEqualTo(kib * KIB);
  }

  @ParameterizedTest
  @CsvSource({"1, 64", "256, 64", "512, 64", "1023, 128"})
  void pagesMayBeLarger(int slots, long kib) {
    assertThat(new QueueBytes(64 * KIB).ofQueuePair(slots)).isEqualTo(kib * KIB);
  }

  @ParameterizedTest
  @CsvSource({
    // connections in each direction, entries on mlx5: KiB of queue pairs to peers, together
    "2, 4096, 40, 304",
    "64, 32768, 1280, 3584",
    "512, 65536, 5632, 11776",
    "1024, 131072, 9728, 22016"
  })
  void theTableHolds(int connections, int entries, long queuePairsKib, long togetherKib) {
    long queuePairs = 0;
    for (int number = 1; number <= connections; number++) {
      queuePairs += BYTES.ofQueuePair(DEPTHS.of(number));
    }
    assertThat(queuePairs).isEqualTo(queuePairsKib * KIB);
    long together = BYTES.ofCompletionQueue(entries) + queuePairs + BYTES.ofInbound(connections);
    assertThat(together).isEqualTo(togetherKib * KIB);
  }

  @Test
  void theMostIsThatOfTheLastLine() {
    assertThat(BYTES.most(DEPTHS, 1024, 1024)).isEqualTo(22016 * KIB);
  }
}
