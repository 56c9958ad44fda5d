/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;

/** A window with two lists that were posted longer ago than a list in flight may take. */
class ReadWindowTest {
  private final PeerBlocks peer =
      new PeerBlocks(new PeerId("peer", new RdmaEndpoint("192.0.2.1", 1, Nonce.random())), null);

  private final List<RegisteredSlot> completed = new ArrayList<>();
  private final ReadWindow window = new ReadWindow(
      new DirectFetch.Limits(1, 100, 1),
      () -> Long.MAX_VALUE,
      () -> completed.forEach(RegisteredSlot::succeeded));

  private final List<RegisteredSlot> lists = List.of(list(), list());

  private RegisteredSlot list() {
    return new RegisteredSlot(peer, 1, () -> {});
  }

  @BeforeEach
  void postedLongAgo() throws InterruptedException {
    lists.forEach(window::add);
    TimeUnit.MILLISECONDS.sleep(150);
  }

  @Test
  void listsInFlightForLongKeepNoOthersWaiting() {
    assertThat(window.isOpen()).isTrue();
  }

  @Test
  void listsThatHaveCompletedAreNotTakenForSlowOnes() {
    completed.addAll(lists);
    assertThat(window.isOpen()).isFalse();
  }
}
