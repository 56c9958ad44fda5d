/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapstatus;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Test;
import scala.Option;

class PublishedEndpointTest {
  private static final int ROUNDS = 50_000;

  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);

  @Test
  void forgedTopologiesReadAsNoEndpointOrAsOneInRange() {
    String real = "/rack7;shuffle-rdma=1,10.1.2.3,41234,0123456789abcdef0123456789abcdef";
    String alphabet = ";,=.:%-_ 019afAFzZ\n\u00e4\ud83d";
    for (int round = 0; round < ROUNDS; round++) {
      StringBuilder forged = new StringBuilder(real);
      for (int lies = 1 + random.nextInt(4); lies > 0; lies--) {
        int at = random.nextInt(forged.length());
        char c = alphabet.charAt(random.nextInt(alphabet.length()));
        switch (random.nextInt(3)) {
          case 0 -> forged.setCharAt(at, c);
          case 1 -> forged.insert(at, c);
          default -> forged.deleteCharAt(at);
        }
      }
      PublishedEndpoint.of(BlockManagerId.apply("1", "h", 7, Option.apply(forged.toString())))
          .ifPresent(endpoint -> {
            assertThat(endpoint.port()).as("seed %d: %s", seed, forged).isBetween(1, 0xFFFF);
            assertThat(endpoint.nonceHex()).hasSize(32);
            assertThat(endpoint.host()).isNotEmpty();
          });
    }
  }
}
