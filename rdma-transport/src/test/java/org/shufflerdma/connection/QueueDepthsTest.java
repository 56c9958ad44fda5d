/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QueueDepthsTest {
  @ParameterizedTest
  @CsvSource({
    // most, a list, connections: depth of the last one, sum
    "256, 64, 1, 256, 256",
    "256, 64, 2, 256, 512",
    "256, 64, 64, 256, 16384",
    "256, 64, 65, 128, 16512",
    "256, 64, 256, 128, 40960",
    "256, 64, 257, 64, 41024",
    "256, 64, 512, 64, 57344",
    "256, 64, 1024, 64, 90112",
    "64, 64, 1024, 64, 65536",
    "100, 40, 257, 40, 16040",
    "1, 1, 300, 1, 300",
    "16384, 64, 65536, 4096, 270008320"
  })
  void depthsFollowTheNumberOfConnections(
      int most, int least, int connections, int depth, long sum) {
    QueueDepths depths = new QueueDepths(most, least);
    assertThat(depths.of(connections)).isEqualTo(depth);
    assertThat(depths.sum(connections)).isEqualTo(sum);
    assertThat(depths.connections(sum)).isEqualTo(connections);
    assertThat(depths.connections(sum - 1)).isEqualTo(connections - 1);
  }

  @Test
  void nothingIsTheSumOfNone() {
    QueueDepths depths = new QueueDepths(256, 64);
    assertThat(depths.sum(0)).isZero();
    assertThat(depths.connections(255)).isZero();
  }

  @Test
  void inWhateverOrderConnectionsComeAndGoTheyHaveNoMoreThanTheSum() {
    QueueDepths depths = new QueueDepths(256, 64);
    Random random = new Random(1);
    List<Integer> open = new ArrayList<>();
    for (int step = 0; step < 20_000; step++) {
      boolean grows = step / 1_000 % 2 == 0;
      if (open.isEmpty() || random.nextInt(10) < (grows ? 7 : 3)) {
        open.add(depths.of(open.size() + 1));
      } else {
        open.remove(random.nextInt(open.size()));
      }
      assertThat(open.stream().mapToLong(depth -> depth).sum())
          .isLessThanOrEqualTo(depths.sum(open.size()));
    }
  }
}
