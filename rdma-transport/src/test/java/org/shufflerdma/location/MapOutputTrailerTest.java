/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class MapOutputTrailerTest {
  private static final MapOutputTrailer TRAILER = new MapOutputTrailer(
      MapOutputTrailer.hashExecutorId("17"), 0xFFFF_FFFFL, -2, 0xFFFF_8000_0000_0040L);

  @Test
  void comesBackAsWrittenFrom24Bytes() {
    byte[] encoded = TRAILER.encode();
    assertThat(encoded).hasSize(24);
    assertThat(MapOutputTrailer.decode(encoded)).contains(TRAILER);
  }

  @Test
  void everyFlippedBitReadsAsNoTrailer() {
    for (int bit = 0; bit < MapOutputTrailer.SIZE_BYTES * 8; bit++) {
      byte[] encoded = TRAILER.encode();
      encoded[bit / 8] ^= (byte) (1 << (bit % 8));
      assertThat(MapOutputTrailer.decode(encoded)).isEmpty();
    }
  }

  @Test
  void namesItsExecutor() {
    assertThat(TRAILER.isOf("17")).isTrue();
    assertThat(TRAILER.isOf("18")).isFalse();
  }

  @Test
  void generationBeyond32BitsIsRefused() {
    assertThatThrownBy(() -> new MapOutputTrailer(1, 1L << 32, 0, 0))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
