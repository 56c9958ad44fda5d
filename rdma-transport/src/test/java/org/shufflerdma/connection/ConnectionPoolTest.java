/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.FailingLog;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.EventChannel;

@Timeout(120)
class ConnectionPoolTest {
  private RdmaTransport first;
  private RdmaTransport second;
  private RdmaTransport reader;

  @BeforeEach
  void open() throws Exception {
    first = TestTransports.open("first");
    second = TestTransports.open("second");
    reader = TestTransports.open("reader");
  }

  @AfterEach
  void close() {
    reader.close();
    second.close();
    first.close();
  }

  private Connection connect(RdmaTransport to) throws Exception {
    return TestTransports.connect(reader, peerOf(to));
  }

  private PeerId peerOf(RdmaTransport to) {
    return TestTransports.peerOf(to == first ? "first" : "second", to);
  }

  private PeerFailure failureTo(RdmaTransport to) {
    return TestTransports.refusal(reader, peerOf(to), null).failure();
  }

  private static void awaitConnections(RdmaTransport transport, int count) throws Exception {
    await(transport::outboundConnections, count);
  }

  private static void await(IntSupplier number, int wanted) throws Exception {
    Await.atMost(20_000, () -> number.getAsInt() == wanted);
    assertThat(number.getAsInt()).isEqualTo(wanted);
  }

  /** Entries of the reader's completion queue. */
  private int reserved() {
    return reader.connections().room().reserved();
  }

  @Test
  void aPeerThatIsGoneAndNotAskedForAnyMoreIsForgotten() throws Exception {
    Connection kept = connect(second);
    first.close();
    for (int i = 0; i < reader.settings().breakerFailures(); i++) {
      assertThat(failureTo(first)).isEqualTo(PeerFailure.REFUSED);
    }
    assertThat(failureTo(first)).isEqualTo(PeerFailure.BREAKER);

    reader.connections().forgetUnused(0);

    assertThat(failureTo(first)).isEqualTo(PeerFailure.REFUSED);
    assertThat(connect(second)).isSameAs(kept);
  }

  /** All that a connection must wait for before its canary is read. */
  /** That of a connection's trial comes back a moment after the connection has been made. */
  private List<RegisteredBuffer> takeAllBuffers() throws Exception {
    List<RegisteredBuffer> all = new ArrayList<>();
    Await.atMost(20_000, () -> reader.buffers().usage().leasedBuffers() == 0);
    try {
      while (true) {
        all.add(reader.buffers().acquire(Canary.SIZE_BYTES, Deadline.afterMs(0)));
      }
    } catch (IOException e) {
      return all;
    }
  }

  private void openReader(Map<String, ?> changes) throws Exception {
    reader.close();
    reader = TestTransports.open(
        "reader", TestTransports.with(TestTransports.settings(0, 1 << 20), changes));
  }

  private void connectAndBreak() throws Exception {
    connect(first).breakWith(PeerFailure.NO_PROGRESS, "of a test");
  }

  @Test
  void theCanaryAloneDoesNotMakeUpForFailures() throws Exception {
    for (int i = 0; i < reader.settings().breakerFailures(); i++) {
      connectAndBreak();
    }
    assertThat(failureTo(first)).isEqualTo(PeerFailure.BREAKER);
  }

  @Test
  void aReadOfDataMakesUpForFailures() throws Exception {
    for (int i = 0; i < reader.settings().breakerFailures(); i++) {
      TestTransports.assertReads(connect(first), first, reader, 1);
      connectAndBreak();
    }
    assertThat(connect(first).isOpen()).isTrue();
  }

  @Test
  void aTrialThatFailsForWantOfABufferIsFollowedByAnotherAtOnce() throws Exception {
    openReader(Map.of("breakerOpenMs", 4_000, "connectTimeoutMs", 4_000));
    for (int i = 0; i < reader.settings().breakerFailures(); i++) {
      connectAndBreak();
    }
    List<RegisteredBuffer> all = takeAllBuffers();
    Deadline deadline = Deadline.afterMs(20_000);
    PeerFailure failure = PeerFailure.BREAKER;
    while (failure == PeerFailure.BREAKER && !deadline.expired()) {
      TimeUnit.MILLISECONDS.sleep(10);
      failure = failureTo(first);
    }
    assertThat(failure).isEqualTo(PeerFailure.RESOURCES);
    all.forEach(RegisteredBuffer::release);
    assertThat(connect(first).isOpen()).isTrue();
  }

  @Test
  void aTrialWhoseConnectionMakesRoomForAnotherPeerIsFollowedByAnotherAtOnce() throws Exception {
    openReader(Map.of("breakerOpenMs", 4_000));
    for (int i = 0; i < reader.settings().breakerFailures(); i++) {
      connectAndBreak();
    }
    Connection trial = null;
    Deadline deadline = Deadline.afterMs(20_000);
    while (trial == null && !deadline.expired()) {
      TimeUnit.MILLISECONDS.sleep(10);
      try {
        trial = connect(first);
      } catch (NoConnectionException e) {
        assertThat(e.failure()).isEqualTo(PeerFailure.BREAKER);
      }
    }
    assertThat(trial).isNotNull();
    trial.breakWith(PeerFailure.EVICTED, "of a test");
    awaitConnections(reader, 0);
    assertThat(connect(first).isOpen()).isTrue();
  }

  @Test
  void aConnectionTakesOnePlaceWhileItIsProved() throws Exception {
    openReader(Map.of("maxConnections", 2));
    List<RegisteredBuffer> all = takeAllBuffers();
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      Future<Connection> one = threads.submit(() -> connect(first));
      awaitConnections(reader, 1);
      Future<Connection> other = threads.submit(() -> connect(second));
      awaitConnections(reader, 2);
      all.forEach(RegisteredBuffer::release);
      assertThat(one.get(20, TimeUnit.SECONDS).isOpen()).isTrue();
      assertThat(other.get(20, TimeUnit.SECONDS).isOpen()).isTrue();
    } finally {
      threads.shutdownNow();
    }
  }

  private Future<Connection> connectInBackground(RdmaTransport to) throws Exception {
    FutureTask<Connection> task = new FutureTask<>(() -> connect(to));
    Thread thread = new Thread(task);
    thread.start();
    Await.atMost(20_000, () -> thread.getState() == Thread.State.TIMED_WAITING);
    return task;
  }

  @Test
  void oneConnectionTooManyWaitsUntilAnotherIsIdle() throws Exception {
    openReader(Map.of("maxConnections", 1));
    Connection toFirst = connect(first);
    Connection toSecond = connect(second);
    assertThat(Objects.requireNonNull(toFirst.breakage()).failure()).isEqualTo(PeerFailure.EVICTED);
    TestTransports.assertReads(toSecond, second, reader, 1);
  }

  @Test
  void aConnectionToAPeerThatNoTaskWantsGivesWayFirst() throws Exception {
    openReader(Map.of("maxConnections", 2));
    try (RdmaTransport third = TestTransports.open("second");
        RdmaTransport fourth = TestTransports.open("second")) {
      PeerId peer = TestTransports.peerOf("first", first);
      PeerInterest interest = reader.connections().interestIn(peer, null);
      Connection wanted = connect(first); // idle for longer than the next one
      Connection unwanted = connect(second);
      Connection toThird = connect(third);
      assertThat(unwanted.isOpen()).isFalse();
      assertThat(wanted.isOpen()).isTrue();
      interest.close();
      interest.close(); // to no effect
      assertThat(connect(fourth).isOpen()).isTrue();
      assertThat(wanted.isOpen()).isFalse();
      assertThat(toThird.isOpen()).isTrue();
    }
  }

  @Test
  void thoseWhoWaitForAPlaceAreServedOneAfterTheOther() throws Exception {
    openReader(Map.of("maxConnections", 1));
    try (RdmaTransport third = TestTransports.open("second")) {
      ReadsInUse reads = new ReadsInUse(reader, connect(first), first);
      Future<Connection> toSecond = connectInBackground(second);
      Future<Connection> alsoToSecond = connectInBackground(second);
      Future<Connection> toThird = connectInBackground(third);
      assertThat(List.of(toSecond, alsoToSecond, toThird)).noneMatch(Future::isDone);
      reads.end();
      assertThat(toSecond.get(20, TimeUnit.SECONDS))
          .isSameAs(alsoToSecond.get(20, TimeUnit.SECONDS));
      assertThat(toThird.get(20, TimeUnit.SECONDS).isOpen()).isTrue();
      assertThat(reader.stats().connectionsOpened.sum()).isEqualTo(3);
      assertThat(reader.stats().connectionsEvicted.sum()).isEqualTo(2);
    }
  }

  @Test
  void theEndOfTheTransportIsToldToThoseWhoWaitForAPlace() throws Exception {
    openReader(Map.of("maxConnections", 1));
    Connection toFirst = connect(first);
    ReadsInUse reads = new ReadsInUse(reader, toFirst, first);
    Future<Connection> waiting = connectInBackground(second);
    reader.connections().close(PeerFailure.DEVICE, "of a test");
    assertThatThrownBy(() -> waiting.get(20, TimeUnit.SECONDS))
        .cause()
        .isInstanceOfSatisfying(
            NoConnectionException.class,
            e -> assertThat(e.failure()).isEqualTo(PeerFailure.CLOSED));
    assertThat(toFirst.isOpen()).isFalse();
    reads.end();
  }

  @Test
  void theCompletionQueueGrowsWithTheConnections() throws Exception {
    int depth = reader.settings().sendQueueDepth();
    int all = reader.connections().limit() * depth;
    assertThat(reader.completionQueueEntries()).isLessThan(all / 4); // some devices round up
    List<RdmaTransport> owners = new ArrayList<>();
    try {
      for (int i = 0; i < 10; i++) {
        RdmaTransport owner = TestTransports.open("second", TestTransports.settings(0, 1 << 20));
        owners.add(owner);
        TestTransports.assertReads(connect(owner), owner, reader, 1);
      }
      assertThat(reader.completionQueueEntries()).isGreaterThanOrEqualTo(10 * depth);
      assertThat(reader.completionQueueEntries()).isLessThan(all);
    } finally {
      owners.forEach(RdmaTransport::close);
    }
  }

  @Test
  void theBytesOfQueuesFollowFromTheConnections() throws Exception {
    connect(first);
    connect(second);
    QueueBytes bytes = QueueBytes.ofSystem();
    assertThat(reader.queueBytes())
        .isEqualTo(bytes.ofCompletionQueue(reader.completionQueueEntries())
            + 2 * bytes.ofQueuePair(reader.settings().sendQueueDepth()));
    assertThat(first.queueBytes())
        .isEqualTo(bytes.ofCompletionQueue(first.completionQueueEntries()) + bytes.ofInbound(1));
  }

  @Test
  void noMoreConnectionsAreMadeThanTheDeviceHasRoomFor() throws Exception {
    openReader(Map.of("maxConnections", Integer.MAX_VALUE, "sendQueueDepth", 16_384));
    int limit = reader.connections().limit();
    assertThat(limit).isPositive().isLessThanOrEqualTo(reader.device().maxQp());
    assertThat(reader.settings().queueDepths().sum(limit))
        .isLessThanOrEqualTo(reader.device().maxCqe());
    TestTransports.assertReads(connect(first), first, reader, 1);
  }

  @Test
  void connectionsThatComeAndGoGiveTheirEntriesBack() throws Exception {
    openReader(Map.of("maxConnections", 2));
    int depth = reader.settings().sendQueueDepth();
    try (RdmaTransport third = TestTransports.open("second")) {
      for (int round = 0; round < 5; round++) {
        for (RdmaTransport owner : List.of(first, second, third)) {
          TestTransports.assertReads(connect(owner), owner, reader, 1);
          assertThat(reserved()).isBetween(depth, 2 * depth);
        }
      }
      assertThat(reader.stats().connectionsEvicted.sum()).isPositive();
      first.close();
      assertThat(failureTo(first)).isIn(PeerFailure.REFUSED, PeerFailure.TIMEOUT);
      reader.connections().close(PeerFailure.CLOSED, "of a test");
      await(this::reserved, 0);
    }
  }

  @Test
  void entriesComeBackWhenTheCompletionsHaveBeenTaken() throws Exception {
    Connection connection = connect(first);
    int before = reserved();
    assertThat(before).isEqualTo(reader.settings().sendQueueDepth());
    PausedPoller.during(reader, () -> {
      connection.breakWith(PeerFailure.NO_PROGRESS, "of a test");
      awaitConnections(reader, 0);
      assertThat(reserved()).isEqualTo(before);
    });
    await(this::reserved, 0);
  }

  @Test
  void anAttemptThatStumblesIsOverForThoseWhoShareIt() throws Exception {
    first.close();
    FailingLog log = new FailingLog(Attempts.class, Level.WARN);
    try {
      assertThat(failureTo(first)).isEqualTo(PeerFailure.REFUSED);
    } finally {
      log.restore();
    }
    assertThat(failureTo(first)).isEqualTo(PeerFailure.REFUSED);
  }

  @Test
  void aConnectionThatCannotBeReportedIsThereAllTheSame() throws Exception {
    FailingLog log = new FailingLog(Attempts.class, Level.INFO);
    try {
      TestTransports.assertReads(connect(first), first, reader, 1);
    } finally {
      log.restore();
    }
  }

  @Test
  void whoWaitsLongerForAPlaceKeepsTheAttemptInLine() throws Exception {
    openReader(Map.of("maxConnections", 1));
    ReadsInUse reads = new ReadsInUse(reader, connect(first), first);
    PeerId peer = TestTransports.peerOf("second", second);
    PeerInterest interest = reader.connections().interestIn(peer, null);
    Connecting hasty = reader.connections().begin(peer, null, Deadline.afterMs(100));
    Connecting patient = reader.connections().begin(peer, null, Deadline.afterMs(60_000));
    assertThat(patient).isSameAs(hasty);
    assertThat(hasty.await(Deadline.afterMs(500))).isFalse();
    reads.end();
    assertThat(patient.await(Deadline.afterMs(20_000))).isTrue();
    assertThat(patient.connection()).isNotNull();
    interest.close();
  }

  @Test
  void anAttemptInLineThatNobodyWantsAnyMoreEnds() throws Exception {
    openReader(Map.of("maxConnections", 1));
    ReadsInUse reads = new ReadsInUse(reader, connect(first), first);
    PeerId peer = TestTransports.peerOf("second", second);
    PeerInterest interest = reader.connections().interestIn(peer, null);
    Connecting attempt = reader.connections().begin(peer, null, Deadline.afterMs(60_000));
    try (RdmaTransport third = TestTransports.open("second")) {
      Future<Connection> behind = connectInBackground(third);
      interest.close();
      assertThat(attempt.await(Deadline.afterMs(20_000))).isTrue();
      attempt.throwRefusal(); // there is none
      assertThat(attempt.connection()).isNull();
      reads.end();
      assertThat(behind.get(20, TimeUnit.SECONDS).isOpen()).isTrue();
      assertThat(reader.stats().connectFailures.sum()).isZero();
    }
  }

  /** The host of the peer that fell silent is asked first, which takes longer than the first look at attempts. */
  @Test
  void anAttemptThatBeginsAfterItsHostWasAskedIsLookedAfter() throws Exception {
    openReader(Map.of("connectTimeoutMs", 4_000));
    PeerId peer = TestTransports.peerOf("first", first);
    connect(first).breakWith(PeerFailure.NO_ANSWER, "of a test");
    awaitConnections(reader, 0);
    first.close(); // its listener is gone, and there is another one that does not answer
    try (EventChannel channel = EventChannel.open();
        ConnectionId mute = channel.createId()) {
      mute.bind(new InetSocketAddress(peer.endpoint().host(), peer.endpoint().port()));
      mute.listen(8);
      InetSocketAddress answering = new InetSocketAddress(
          InetAddress.getLoopbackAddress(), 1); // refuses TCP, which is an answer
      assertThat(TestTransports.refusal(reader, peer, answering).failure())
          .isEqualTo(PeerFailure.TIMEOUT);
      reader.close();
    }
  }

  @Test
  void connectionsWhoseEndsCannotBeReportedEndAllTheSame() throws Exception {
    Connection one = connect(first);
    Connection other = connect(second);
    FailingLog log = new FailingLog(ConnectionPool.class, Level.WARN);
    try {
      reader.connections().close(PeerFailure.DEVICE, "of a test");
      assertThat(one.isOpen()).isFalse();
      assertThat(other.isOpen()).isFalse();
      awaitConnections(reader, 0);
    } finally {
      log.restore();
    }
  }
}
