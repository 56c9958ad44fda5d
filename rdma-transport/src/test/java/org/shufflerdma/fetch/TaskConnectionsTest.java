/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.Queue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.PeerFailure;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.metrics.TaskTimes;

/** Attempts to connect that wait for a worker until the test runs them. */
@Timeout(120)
class TaskConnectionsTest extends FetcherScene {
  private final Queue<Runnable> waiting = new ArrayDeque<>();

  private TaskConnections connections(int progressTimeoutMs) {
    PerPeerExecutor<PeerId> workers = new PerPeerExecutor<>(waiting::add, 1);
    FetchContext context = new FetchContext(
        reader.connections(),
        new Channels(1),
        reader.poller(),
        reader.buffers(),
        new DescriptorCache(),
        new DescriptorSeal(reader.identity().key(DescriptorSeal.PURPOSE)),
        workers,
        workers,
        () -> false,
        new FetchStats(),
        new ReadPlan.Limits(1, 1, 1),
        null,
        null,
        progressTimeoutMs,
        200,
        60_000);
    LeftBlocks left = new LeftBlocks(context.stats(), new TaskTimes());
    ServiceRoute services = new ServiceRoute(context, left, () -> false, () -> {});
    return new TaskConnections(context, left, services, () -> false, () -> {});
  }

  private void work() {
    for (Runnable step = waiting.poll(); step != null; step = waiting.poll()) {
      step.run();
    }
  }

  private PeerBlocks blocks() throws Exception {
    PeerBlocks blocks = new PeerBlocks(peer, null);
    blocks.add(publish(1, 100).ref(), 0, 1);
    return blocks;
  }

  @Test
  void aConnectionThatAnotherTaskMadeIsUsedWhileTheOwnAttemptWaits() throws Exception {
    TaskConnections connections = connections(20_000);
    PeerBlocks blocks = blocks();
    assertThat(connections.to(blocks)).isNull();
    Connection made = reader.connections().connect(peer, null, Deadline.afterMs(20_000));
    assertThat(connections.to(blocks)).isSameAs(made);
    work();
    assertThat(connections.to(blocks)).isSameAs(made);
  }

  @Test
  void anAttemptThatBeginsTooLateFailsWithoutBlamingThePeer() throws Exception {
    TaskConnections connections = connections(0);
    PeerBlocks blocks = blocks();
    assertThat(connections.to(blocks)).isNull();
    work();
    assertThatThrownBy(() -> connections.to(blocks))
        .isInstanceOfSatisfying(
            NoConnectionException.class,
            why -> assertThat(why.failure()).isEqualTo(PeerFailure.RESOURCES));
    assertThat(reader.stats().connectFailures.sum()).isZero();
  }
}
