/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.PoolSettings;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.TestDevice;
import org.shufflerdma.verbs.WcStatus;

@Timeout(120)
class RdmaTransportTest {
  private TestDevice.Live before;
  private RdmaTransport owner;
  private RdmaTransport reader;
  private PeerId peer;

  @BeforeEach
  void open() throws Exception {
    before = TestDevice.live();
    owner = TestTransports.open("owner");
    reader = TestTransports.open("reader");
    peer = TestTransports.peerOf("owner", owner);
  }

  @AfterEach
  void everythingIsGivenBack() throws Exception {
    reader.close();
    owner.close();
    reader.close();
    assertThat(TestDevice.live()).isEqualTo(before);
    // Threads end a little after they are told to.
    Await.atMost(20_000, () -> transportThreads().isEmpty());
    assertThat(transportThreads()).isEmpty();
  }

  private static Set<String> transportThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("rdma-owner") || name.startsWith("rdma-reader"))
        .collect(Collectors.toSet());
  }

  private Connection connect() throws Exception {
    return reader.connections().connect(peer, null, Deadline.afterMs(20_000));
  }

  private static TransportSettings withInboundLimit(int limit, int leastAgeMs) {
    return TestTransports.with(
        TestTransports.settings(0, 1 << 20),
        Map.of("maxInboundConnections", limit, "breakerOpenMs", leastAgeMs));
  }

  @Test
  void concurrentFirstUsersShareOneConnect() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Callable<Connection>> connects = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        connects.add(this::connect);
      }
      Set<Connection> connections = new java.util.HashSet<>();
      for (Future<Connection> future : threads.invokeAll(connects)) {
        connections.add(future.get());
      }
      assertThat(connections).hasSize(1);
    } finally {
      threads.shutdownNow();
    }
    assertThat(owner.stats().connectionsAccepted.sum()).isEqualTo(1);
  }

  @Test
  void readsAroundACulpritAreToldApart() throws Exception {
    Connection connection = connect();
    try (RegisteredArena arena = TestTransports.arena(owner)) {
      ArenaSlice record = arena.allocate(64);
      Read good = new Read(record.address(), record.rkey(), 64, 0);
      Read beyond = new Read(record.address() + (1L << 40), record.rkey(), 64, 64);
      RegisteredBuffer sink = reader.buffers().acquire(4096, Deadline.afterMs(0));
      AwaitedCompletion hit = new AwaitedCompletion();
      connection.post(List.of(good, beyond, good), sink, hit, Deadline.afterMs(5_000));
      ReadFailure failure = hit.await(Deadline.afterMs(20_000));
      assertThat(failure).isNotNull();
      assertThat(failure.culprit()).isEqualTo(1);
      assertThat(failure.wcStatus()).isEqualTo(WcStatus.REM_ACCESS_ERR);
      assertThat(failure.breakage().failure()).isEqualTo(PeerFailure.READ_ERROR);
      assertThatThrownBy(() ->
              connection.post(List.of(good), sink, new AwaitedCompletion(), Deadline.afterMs(100)))
          .isInstanceOf(NoConnectionException.class);
      sink.release();
    }
    assertThat(connect()).isNotSameAs(connection);
  }

  @Test
  void moreReadsThanTheQueueHoldsWaitForTheirPlace() throws Exception {
    Connection connection = connect();
    try (RegisteredArena arena = TestTransports.arena(owner)) {
      ArenaSlice record = arena.allocate(64);
      Read read = new Read(record.address(), record.rkey(), 64, 0);
      List<Read> list = Collections.nCopies(64, read);
      RegisteredBuffer sink = reader.buffers().acquire(4096, Deadline.afterMs(0));
      List<AwaitedCompletion> completions = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        AwaitedCompletion completion = new AwaitedCompletion();
        connection.post(list, sink, completion, Deadline.afterMs(20_000));
        completions.add(completion);
      }
      for (AwaitedCompletion completion : completions) {
        assertThat(completion.await(Deadline.afterMs(20_000))).isNull();
      }
      sink.release();
    }
    assertThat(reader.stats().staleCompletions.sum()).isZero();
  }

  private static TransportSettings withConnectionLimit(int limit) {
    return TestTransports.with(
        TestTransports.settings(0, 1 << 20), Map.of("maxConnections", limit));
  }

  @Test
  void theConnectionThatWasIdleLongestMakesRoomForOneMore() throws Exception {
    try (RdmaTransport second = TestTransports.open("second");
        RdmaTransport third = TestTransports.open("third");
        RdmaTransport small = TestTransports.open("small", withConnectionLimit(2))) {
      Connection toFirst = small.connections().connect(peer, null, Deadline.afterMs(20_000));
      Connection toSecond = TestTransports.connect(small, TestTransports.peerOf("second", second));
      PeerId one = TestTransports.peerOf("third", third);
      TestTransports.assertReads(toFirst, owner, small, 1);

      Connection toThird = small.connections().connect(one, null, Deadline.afterMs(20_000));

      TestTransports.assertBroken(toSecond, PeerFailure.EVICTED);
      TestTransports.assertReads(toFirst, owner, small, 1);
      TestTransports.assertReads(toThird, third, small, 1);
      assertThat(small.stats().connectionsEvicted.sum()).isEqualTo(1);
      assertThat(small.stats().connectionsFailed.sum()).isZero();
    }
  }

  @Test
  void aConnectionInUseKeepsItsPlace() throws Exception {
    try (RdmaTransport second = TestTransports.open("second");
        RdmaTransport small = TestTransports.open("small", withConnectionLimit(1));
        RegisteredArena arena = TestTransports.arena(owner)) {
      Connection toFirst = small.connections().connect(peer, null, Deadline.afterMs(20_000));
      ArenaSlice record = arena.allocate(64);
      List<Read> list = List.of(new Read(record.address(), record.rkey(), 64, 0));
      RegisteredBuffer sink = small.buffers().acquire(4096, Deadline.afterMs(0));
      AwaitedCompletion inUse = new AwaitedCompletion();
      PausedPoller.during(small, () -> {
        toFirst.post(list, sink, inUse, Deadline.afterMs(5_000));
        PeerId other = TestTransports.peerOf("second", second);
        assertThatThrownBy(
                () -> // longer than it would have to be idle
                small.connections().connect(other, null, Deadline.afterMs(1_500)))
            .isInstanceOfSatisfying(
                NoConnectionException.class,
                e -> assertThat(e.failure()).isEqualTo(PeerFailure.RESOURCES))
            .hasMessageContaining("1 connections are in use (maxConnections)");
      });
      assertThat(inUse.await(Deadline.afterMs(20_000))).isNull();
      sink.release();
    }
  }

  @Test
  void aSendQueueThatStaysFullFailsWhoWaitsAndNobodyElse() throws Exception {
    Connection connection = connect();
    try (RegisteredArena arena = TestTransports.arena(owner)) {
      ArenaSlice record = arena.allocate(64);
      List<Read> list = Collections.nCopies(64, new Read(record.address(), record.rkey(), 64, 0));
      RegisteredBuffer sink = reader.buffers().acquire(4096, Deadline.afterMs(0));
      List<AwaitedCompletion> others = new ArrayList<>();
      PausedPoller.during(reader, () -> {
        assertThatThrownBy(() -> {
              for (int i = 0; i < 8; i++) {
                AwaitedCompletion other = new AwaitedCompletion();
                connection.post(list, sink, other, Deadline.afterMs(0));
                others.add(other);
              }
            })
            .isInstanceOf(TimeoutException.class);
      });
      for (AwaitedCompletion other : others) {
        assertThat(other.await(Deadline.afterMs(20_000))).isNull();
      }
      assertThat(connection.isOpen()).isTrue();
      sink.release();
    }
  }

  @Test
  void whenAThreadDiesEverythingThatWaitsOnItEnds() throws Exception {
    Connection connection = connect();
    try (RegisteredArena arena = TestTransports.arena(owner)) {
      ArenaSlice record = arena.allocate(64);
      Read read = new Read(record.address(), record.rkey(), 64, 0);
      RegisteredBuffer sink = reader.buffers().acquire(4096, Deadline.afterMs(0));
      connection.post(List.of(read), sink, new Deadly(), Deadline.afterMs(5_000));
      AwaitedCompletion behind = new AwaitedCompletion();
      try {
        connection.post(List.of(read), sink, behind, Deadline.afterMs(5_000));
        behind.await(Deadline.afterMs(20_000)); // with success or failure, but in time
      } catch (NoConnectionException e) {
        assertThat(e.failure()).isEqualTo(PeerFailure.DEVICE);
      }
      awaitBroken(connection);
      TestTransports.assertBroken(connection, PeerFailure.DEVICE);
      assertThat(failureOf(reader, peer, null)).isEqualTo(PeerFailure.CLOSED);
      sink.release();
    }
  }

  /** What an executor without memory would have. */
  private static final class Deadly implements ReadCompletion {
    @Override
    public void succeeded() {
      throw new OutOfMemoryError("of a test");
    }

    @Override
    public void failed(ReadFailure failure) {}
  }

  private static void awaitBroken(Connection connection) throws Exception {
    Await.atMost(20_000, () -> !connection.isOpen());
  }

  @Test
  void anOwnerWithAllItsConnectionsRejectsOneMore() throws Exception {
    try (RdmaTransport small = TestTransports.open("small", withInboundLimit(1, 60_000));
        RdmaTransport second = TestTransports.open(
            "second",
            TestTransports.withConnectTimeout(TestTransports.settings(0, 1 << 20), 1_000))) {
      PeerId busy = TestTransports.peerOf("small", small);
      reader.connections().connect(busy, null, Deadline.afterMs(20_000));
      for (int i = 0; i < 4; i++) { // which is no failure of the peer, however often
        assertThatThrownBy(() -> second.connections().connect(busy, null, Deadline.afterMs(20_000)))
            .isInstanceOfSatisfying(
                NoConnectionException.class,
                e -> assertThat(e.failure()).isEqualTo(PeerFailure.TOO_MANY))
            .hasMessageContaining("TOO_MANY");
      }
      assertThat(small.stats().connectionsRejected.sum()).isGreaterThan(4);
    }
  }

  @Test
  void aPeerThatHasNoPlaceIsAskedAgain() throws Exception {
    try (RdmaTransport small = TestTransports.open("small", withInboundLimit(1, 60_000));
        RdmaTransport second = TestTransports.open("second")) {
      PeerId busy = TestTransports.peerOf("small", small);
      Connection first = reader.connections().connect(busy, null, Deadline.afterMs(20_000));
      Thread leaving = new Thread(() -> {
        Deadline deadline = Deadline.afterMs(20_000);
        while (small.stats().connectionsRejected.sum() < 2 && !deadline.expired()) {
          Thread.onSpinWait();
        }
        first.breakWith(PeerFailure.EVICTED, "it makes room");
      });
      leaving.start();
      Connection made = second.connections().connect(busy, null, Deadline.afterMs(20_000));
      leaving.join();
      TestTransports.assertReads(made, small, second, 1);
    }
  }

  @Test
  void theOldestInboundConnectionMakesRoomForOneMore() throws Exception {
    try (RdmaTransport small = TestTransports.open("small", withInboundLimit(1, 0));
        RdmaTransport second = TestTransports.open("second")) {
      PeerId busy = TestTransports.peerOf("small", small);
      Connection oldest = reader.connections().connect(busy, null, Deadline.afterMs(20_000));
      Await.atMost(20_000, () -> small.stats().connectionsAccepted.sum() > 0);

      Connection newest = second.connections().connect(busy, null, Deadline.afterMs(20_000));

      awaitBroken(oldest);
      TestTransports.assertBroken(oldest, PeerFailure.DISCONNECTED);
      assertThat(reader.stats().connectionsFailed.sum()).isZero();
      TestTransports.assertReads(newest, small, second, 1);
    }
  }

  @Test
  void aPeerFoundLostIsAskedByTcpAgainBeforeItsBlocksAreHeldToBeLost() throws Exception {
    TransportSettings settings =
        TestTransports.withConnectTimeout(TestTransports.settings(0, 1 << 20), 300);
    try (RdmaTransport impatient = TestTransports.open("reader", settings);
        EventChannel unread = EventChannel.open();
        ConnectionId mute = unread.createId();
        SilentPort silent = SilentPort.open();
        ServerSocket answering = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      InetSocketAddress at = silent.address();
      mute.bind(new InetSocketAddress(TestDevice.address(), 0));
      mute.listen(8);
      PeerId lost = new PeerId("lost", endpointOf(mute));
      assertThat(failureOf(impatient, lost, at)).isEqualTo(PeerFailure.PEER_UNREACHABLE);
      InetSocketAddress back = (InetSocketAddress) answering.getLocalSocketAddress();
      assertThat(failureOf(impatient, lost, back)).isEqualTo(PeerFailure.BREAKER);
      assertThat(failureOf(impatient, lost, at)).isEqualTo(PeerFailure.PEER_UNREACHABLE);
    }
  }

  private static RdmaEndpoint endpointOf(ConnectionId listener) {
    InetSocketAddress address = Objects.requireNonNull(listener.localAddress());
    return new RdmaEndpoint(
        address.getAddress().getHostAddress(), address.getPort(), Nonce.random());
  }

  private static PeerFailure failureOf(
      RdmaTransport transport, PeerId to, @Nullable InetSocketAddress tcpAddress) {
    return TestTransports.refusal(transport, to, tcpAddress).failure();
  }

  @Test
  void aPeerThatLeavesIsNoticedAndNotBlamed() throws Exception {
    Connection connection = connect();
    owner.close();
    awaitBroken(connection);
    TestTransports.assertBroken(connection, PeerFailure.DISCONNECTED);
    assertThat(reader.stats().connectionsFailed.sum()).isZero();
  }

  @Test
  void anInboundConnectionEndsWithItsPeer() throws Exception {
    connect();
    assertThat(owner.inboundConnections()).isEqualTo(1);
    reader.close();
    Await.atMost(20_000, () -> owner.inboundConnections() == 0);
    assertThat(owner.inboundConnections()).isZero();
  }

  @Test
  void aClosedTransportConnectsToNobody() {
    reader.close();
    assertThat(failureOf(reader, peer, null)).isEqualTo(PeerFailure.CLOSED);
  }

  @Test
  void anAddressOfNoDeviceIsRefusedAndNothingStaysOpen() {
    TransportSettings settings = TestTransports.settings(0, 1 << 20);
    assertThatThrownBy(() -> RdmaTransport.open(
            settings, "mlx5_0", new LocalIdentity("app", "x", TestTransports.SECRET)))
        .isInstanceOf(UnusableAddressException.class)
        .hasMessageContaining("mlx5_0");
  }

  @Test
  void aReaderWithoutABufferForTheCanarySaysWhyAndDoesNotBlameThePath() throws Exception {
    PoolSettings tooSmall = PoolSettings.ofBudget(Canary.SIZE_BYTES / 2);
    TransportSettings settings =
        TestTransports.defaults(new InetSocketAddress(TestDevice.address(), 0), tooSmall);
    try (RdmaTransport poor = TestTransports.open("poor", settings)) {
      for (int i = 0;
          i < settings.breakerFailures();
          i++) { // its own shortage is not the peer's fault
        assertThat(failureOf(poor, peer, null)).isEqualTo(PeerFailure.RESOURCES);
      }
      NoConnectionException refused = TestTransports.refusal(poor, peer, null);
      assertThat(refused.failure()).isEqualTo(PeerFailure.RESOURCES);
      assertThat(refused).hasMessageContaining("no fetch buffer can have ");
    }
  }

  @Test
  void aLoopbackAddressTakesTheDeviceThatIsAskedFor() throws Exception {
    LocalIdentity identity = new LocalIdentity("app", "x", TestTransports.SECRET);
    try (RdmaTransport transport =
        RdmaTransport.open(TestTransports.settings(0, 1 << 20), TestDevice.name(), identity)) {
      assertThat(transport.device().name()).isEqualTo(TestDevice.name());
    }
  }

  @Test
  void theWildcardIsRefusedForItIsNoAddressToPublish() throws Exception {
    TransportSettings settings =
        TestTransports.defaults(new InetSocketAddress(0), PoolSettings.ofBudget(1 << 20));
    LocalIdentity identity = new LocalIdentity("app", "x", TestTransports.SECRET);
    assertThatThrownBy(() -> RdmaTransport.open(settings, null, identity))
        .isInstanceOf(UnusableAddressException.class)
        .hasMessageContaining("belongs to no RDMA device");
  }
}
