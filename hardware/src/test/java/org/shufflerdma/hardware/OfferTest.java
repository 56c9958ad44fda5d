/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

class OfferTest {
  private static final InetSocketAddress AT =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 7400);

  private static Offer.OfRail rail(String name, long bytes) {
    return new Offer.OfRail(name, new RemoteMemory(1 << 20, 7, bytes), AT);
  }

  private static Offer sent(List<Offer.OfRail> rails) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new Offer(new RemoteMemory(1, 2, 1L << 30), new TestBytes(3), AT, AT, rails)
        .write(new DataOutputStream(out));
    return Offer.read(new DataInputStream(new ByteArrayInputStream(out.toByteArray())));
  }

  @Test
  void theOtherHostLearnsOfEachRail() throws Exception {
    List<Offer.OfRail> rails = List.of(rail("mlx5_0:1", 4096), rail("mlx5_1:1", 4096));
    assertThat(sent(rails).rails()).isEqualTo(rails);
    assertThat(sent(List.of()).rails()).isEmpty();
  }

  @Test
  void aRailThatOffersNoBytesIsRefused() {
    for (long bytes : new long[] {0, -1, Long.MIN_VALUE}) {
      assertThatThrownBy(() -> sent(List.of(rail("mlx5_0:1", bytes))))
          .isInstanceOf(IOException.class)
          .hasMessage("rail mlx5_0:1 offers " + bytes + " bytes");
    }
  }
}
