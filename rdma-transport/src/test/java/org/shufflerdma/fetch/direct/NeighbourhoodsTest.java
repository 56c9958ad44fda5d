/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.descriptor.Neighbourhoods;

class NeighbourhoodsTest {
  private static final int WIDE = 100;
  private final Neighbourhoods neighbourhoods = new Neighbourhoods();

  private int ask(int shuffleId, int partition, int owners) {
    neighbourhoods.asked(shuffleId, partition, partition + 1);
    return neighbourhoods.widthAround(shuffleId, partition, owners);
  }

  @Test
  void inASmallClusterAllNeighboursAreRead() {
    assertThat(ask(1, 3000, 2)).isEqualTo(Neighbourhoods.MOST);
  }

  @Test
  void scatteredPartitionsOfAWideClusterAreReadWithFewOthers() {
    for (int partition = 7; partition < 100_000; partition += WIDE) {
      assertThat(ask(1, partition, WIDE)).isEqualTo(Neighbourhoods.LEAST_SHARE);
    }
  }

  /** As in a cluster in which half of the executors have nothing to do with the shuffle. */
  @Test
  void neighboursThatHaveBeenAskedForMakeTheirsLikely() {
    int reads = 0;
    int covered = 0;
    int partitions = 16 * Neighbourhoods.MOST;
    for (int partition = 0; partition < partitions; partition += 2) {
      int width = ask(1, partition, WIDE);
      if (partition >= covered) {
        covered = (partition & -width) + width;
        reads++;
      }
    }
    assertThat(reads).isBetween(16, 24);
  }

  /** As adaptive execution coalesces them. */
  @Test
  void allPartitionsOfATaskCount() {
    PeerId peer = new PeerId("owner", new RdmaEndpoint("localhost", 1, Nonce.random()));
    PeerBlocks blocks = new PeerBlocks(peer, null);
    for (int partition = 0; partition < 64; partition++) {
      blocks.add(DescriptorRef.unregistered(1, 0, 1_000), partition, partition + 1);
    }
    blocks.noteAsked(neighbourhoods);
    assertThat(neighbourhoods.widthAround(1, 64, WIDE)).isEqualTo(Neighbourhoods.MOST);
  }

  @Test
  void anotherShuffleIsAnotherNeighbourhood() {
    neighbourhoods.asked(1, 0, Neighbourhoods.MOST);
    assertThat(ask(1, 3, WIDE)).isEqualTo(Neighbourhoods.MOST);
    assertThat(ask(2, 3, WIDE)).isEqualTo(Neighbourhoods.LEAST_SHARE);
    neighbourhoods.forgetShuffle(1);
    assertThat(ask(1, 3, WIDE)).isEqualTo(Neighbourhoods.LEAST_SHARE);
  }
}
