/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** When a peer that fails again and again, while some of its READs succeed, is left alone. */
class PeerStateTest {
  private final PeerState peer = new PeerState(
      new PeerId("1", new RdmaEndpoint("localhost", 1, Nonce.random())),
      new CircuitBreaker(3, 60_000, System::nanoTime));

  private boolean readOfAFileFails() {
    peer.readFailed(ReadsOf.FILES);
    return peer.failed(PeerFailure.READ_ERROR);
  }

  @Test
  void stagedChunksDoNotOutweighFailedReadsOfFiles() {
    readOfAFileFails();
    peer.succeeded(ReadsOf.STAGED, 1);
    readOfAFileFails();
    peer.succeeded(ReadsOf.STAGED, 1);
    assertThat(readOfAFileFails()).as("is left alone").isTrue();
  }

  @Test
  void stagedChunksOutweighFailuresToConnect() {
    peer.failed(PeerFailure.TIMEOUT);
    peer.failed(PeerFailure.TIMEOUT);
    peer.succeeded(ReadsOf.STAGED, 1);
    assertThat(peer.failed(PeerFailure.TIMEOUT)).as("is left alone").isFalse();
  }

  @Test
  void aReadOfAFileOutweighsAllFailures() {
    readOfAFileFails();
    readOfAFileFails();
    peer.succeeded(ReadsOf.FILES, 1);
    assertThat(readOfAFileFails()).as("is left alone").isFalse();
    assertThat(peer.readTime().lists()).isEqualTo(1);
  }

  @Test
  void recordsOutweighNothing() {
    readOfAFileFails();
    readOfAFileFails();
    peer.succeeded(ReadsOf.RECORDS, 1);
    assertThat(readOfAFileFails()).as("is left alone").isTrue();
    assertThat(peer.readTime().lists()).isZero();
  }
}
