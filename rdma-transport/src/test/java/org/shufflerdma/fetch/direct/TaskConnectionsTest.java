/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.connection.Connecting;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.ConnectionPool;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerFailure;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.PeerInterest;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.ReadsInUse;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.FetcherScene;
import org.shufflerdma.fetch.descriptor.DescriptorCache;
import org.shufflerdma.fetch.read.FetchStats;
import org.shufflerdma.fetch.read.ReadLimits;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.metrics.TaskTimes;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.TestDevice;

/** How a task gets its connections, without the rest of a fetch. */
@Timeout(120)
class TaskConnectionsTest extends FetcherScene {
  private static final int SILENT_PEERS = 30;

  private final Semaphore woken = new Semaphore(0);

  private TaskConnections connections() {
    PerPeerExecutor<Object> unused = new PerPeerExecutor<>(Runnable::run, 1);
    FetchContext context = new FetchContext(
        reader.connections(),
        reader.poller(),
        reader.buffers(),
        new DescriptorCache(),
        new DescriptorSeal(reader.identity().key(DescriptorSeal.PURPOSE)),
        unused,
        () -> false,
        new FetchStats(),
        new ReadLimits(1, 1, 1),
        null,
        null,
        20_000,
        200,
        60_000);
    LeftBlocks left = new LeftBlocks(context.stats(), new TaskTimes());
    ServiceRoute services = new ServiceRoute(context, left, () -> false, () -> {});
    return new TaskConnections(context, left, services, woken::release);
  }

  private PeerBlocks blocksOf(PeerId owner) throws Exception {
    PeerBlocks blocks = new PeerBlocks(owner, null);
    blocks.add(publish(1, 100).ref(), 0, 1);
    return blocks;
  }

  private static boolean hasEnded(PeerBlocks blocks) {
    return blocks.attempt != null && blocks.attempt.hasEnded();
  }

  /** Waits until it is the turn of a peer again. */
  private PeerBlocks nextReady(TaskConnections connections) throws Exception {
    while (true) {
      connections.askForMore();
      List<PeerBlocks> ready = connections.takeReady();
      if (!ready.isEmpty()) {
        return ready.get(0);
      }
      assertThat(woken.tryAcquire(60, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void aPeerComesBackWithItsConnection() throws Exception {
    TaskConnections connections = connections();
    PeerBlocks blocks = blocksOf(peer);
    assertThat(connections.to(blocks)).isNull();
    assertThat(connections.hasWaiting()).isTrue();
    assertThat(nextReady(connections)).isSameAs(blocks);
    assertThat(connections.hasWaiting()).isFalse();
    Connection made = connections.to(blocks);
    assertThat(Objects.requireNonNull(made).peer()).isEqualTo(peer);
    connections.end();
  }

  @Test
  void aConnectionThatAnotherTaskHasMadeIsUsed() throws Exception {
    TaskConnections connections = connections();
    PeerBlocks blocks = blocksOf(peer);
    assertThat(connections.to(blocks)).isNull();
    Connection made = reader.connections().connect(peer, null, Deadline.afterMs(20_000));
    assertThat(nextReady(connections)).isSameAs(blocks);
    assertThat(connections.to(blocks)).isSameAs(made);
    connections.end();
  }

  @Test
  void whyThereIsNoConnectionIsToldOnce() throws Exception {
    TaskConnections connections = connections();
    PeerId stranger = new PeerId(
        OWNER, new RdmaEndpoint(peer.endpoint().host(), peer.endpoint().port(), new Nonce(1, 2)));
    PeerBlocks blocks = blocksOf(stranger);
    assertThat(connections.to(blocks)).isNull();
    assertThat(nextReady(connections)).isSameAs(blocks);
    assertThatThrownBy(() -> connections.to(blocks))
        .isInstanceOfSatisfying(
            NoConnectionException.class,
            why -> assertThat(why.failure()).isEqualTo(PeerFailure.NONCE));
    assertThat(connections.to(blocks)).isNull(); // and asks again
    connections.end();
  }

  @Test
  void onAClosedTransportTheBlocksAreLeftAndNothingWaits() throws Exception {
    PeerBlocks blocks = blocksOf(peer);
    PeerBlocks others = blocksOf(new PeerId("other", peer.endpoint()));
    reader.close();
    try (DirectFetch fetch = fetcher.direct(
        List.of(blocks, others), new DirectFetch.Limits(1 << 20, 10, 10), () -> {})) {
      assertThat(fetch.next()).isFalse();
      assertThat(fetch.left())
          .hasSize(2)
          .allSatisfy(block -> assertThat(block.reason()).isEqualTo(TcpReason.CLOSED));
    }
    openReader(64 << 20);
  }

  /** The others wait in line, as the only place is taken, and their peers therefore are not silent. */
  @Test
  void aConnectionOfAnotherTaskIsUsedWhileAsManyAreAskedForAsMayBe() throws Exception {
    closeReader();
    openReader(
        TestTransports.with(TestTransports.settings(0, 64 << 20), Map.of("maxConnections", 1)));
    TaskConnections connections = connections();
    for (int i = 0; i < TaskConnections.CONNECTING_AT_ONCE; i++) {
      connections.to(blocksOf(new PeerId("other" + i, peer.endpoint())));
    }
    PeerBlocks last = blocksOf(peer);
    connections.to(last);
    Connection made = reader.connections().connect(peer, null, Deadline.afterMs(20_000));
    connections.askForMore();
    assertThat(connections.takeReady()).containsExactly(last);
    assertThat(connections.to(last)).isSameAs(made);
    connections.end();
  }

  @Test
  void aTaskWaitsForAPlaceAsLongAsItMayThoughOthersWaitOn() throws Exception {
    closeReader();
    openReader(TestTransports.with(
        TestTransports.settings(0, 64 << 20),
        Map.of("maxConnections", 1, "progressTimeoutMs", 1_000)));
    ConnectionPool pool = reader.connections();
    PeerId other = new PeerId("other", peer.endpoint());
    PeerInterest interest = pool.interestIn(other, null);
    ReadsInUse reads =
        new ReadsInUse(reader, pool.connect(peer, null, Deadline.afterMs(20_000)), owner);
    Connecting ofAnotherTask = pool.begin(other, null, Deadline.afterMs(100_000));
    try (DirectFetch fetch = fetcher.direct(
        List.of(blocksOf(other)), new DirectFetch.Limits(1 << 20, 10, 10), () -> {})) {
      assertThat(fetch.next()).isFalse();
      assertThat(fetch.left())
          .singleElement()
          .satisfies(block -> assertThat(block.reason()).isEqualTo(TcpReason.RESOURCES));
    }
    assertThat(ofAnotherTask.hasEnded()).isFalse();
    interest.close();
    reads.end();
  }

  /** More silent peers than are connected to at a time, by one task and by the executor, come first. */
  @Test
  void silentPeersKeepNobodyWaiting() throws Exception {
    try (EventChannel channel = EventChannel.open();
        ConnectionId silent = channel.createId()) {
      silent.bind(new InetSocketAddress(TestDevice.address(), 0));
      silent.listen(2 * SILENT_PEERS);
      InetSocketAddress at = Objects.requireNonNull(silent.localAddress());
      TaskConnections connections = connections();
      List<PeerBlocks> unanswered = new ArrayList<>();
      for (int i = 0; i < SILENT_PEERS; i++) {
        PeerId mute = new PeerId(
            "mute" + i,
            new RdmaEndpoint(at.getAddress().getHostAddress(), at.getPort(), new Nonce(1, i)));
        PeerBlocks blocks = blocksOf(mute);
        assertThat(connections.to(blocks)).isNull();
        unanswered.add(blocks);
      }
      PeerBlocks last = blocksOf(peer);
      assertThat(connections.to(last)).isNull();
      assertThat(nextReady(connections)).isSameAs(last);
      assertThat(connections.to(last)).isNotNull();
      assertThat(unanswered).noneMatch(TaskConnectionsTest::hasEnded);
      connections.end();
      closeReader(); // which ends the attempts before their listener
      openReader(64 << 20);
    }
  }
}
