/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.AwaitedCompletion;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.ReadCompletion;
import org.shufflerdma.connection.ReadFailure;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.verbs.ConnectionId;
import org.shufflerdma.verbs.EventChannel;
import org.shufflerdma.verbs.OnSoftDevice;
import org.shufflerdma.verbs.SoftCounters;
import org.shufflerdma.verbs.TestDevice;

@Timeout(120)
class BlockFetcherTest {
  private static final String OWNER = "owner";
  private static final int LEASE_MS = 1_500;

  @TempDir
  Path directory;

  private TestDevice.Live before;
  private RdmaTransport owner;
  private RdmaTransport reader;
  private RegisteredArena arena;
  private BlockFetcher fetcher;
  private PeerId peer;
  private final List<TestMapOutput> outputs = new ArrayList<>();

  @BeforeEach
  void open() throws Exception {
    before = TestDevice.live();
    owner = TestTransports.open(OWNER);
    arena = TestTransports.arena(owner);
    peer = TestTransports.peerOf(OWNER, owner);
    openReader(64 << 20);
  }

  private void openReader(long poolBytes) throws IOException {
    reader = TestTransports.open("reader", TestTransports.settings(0, poolBytes));
    fetcher = new BlockFetcher(reader, new FetchSettings(4, 200, 60_000));
  }

  private void closeReader() {
    fetcher.close();
    reader.close();
  }

  @AfterEach
  void everythingIsGivenBack() throws Exception {
    closeReader();
    for (TestMapOutput output : outputs) {
      output.close();
    }
    arena.close();
    owner.close();
    assertThat(TestDevice.live()).isEqualTo(before);
    assertThat(reader.buffers().usage().leasedBuffers()).as("leased buffers").isZero();
    assertThat(reader.outboundConnections()).as("connections").isZero();
  }

  private TestMapOutput publish(long mapId, long... lengths) throws IOException {
    TestMapOutput output =
        TestMapOutput.publish(owner.protectionDomain(), arena, directory, mapId, lengths);
    outputs.add(output);
    return output;
  }

  private CollectingListener fetch(List<BlockRequest> blocks) throws InterruptedException {
    return fetch(peer, blocks);
  }

  private CollectingListener fetch(PeerId from, List<BlockRequest> blocks)
      throws InterruptedException {
    CollectingListener listener = new CollectingListener(blocks.size());
    fetcher.fetch(from, null, blocks, listener);
    return listener.await();
  }

  private List<BlockRequest> oneBlockOfEach(int count, int lengthBytes) throws IOException {
    List<BlockRequest> blocks = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      blocks.add(publish(i, 100, lengthBytes, 100).block(i, 1, 2));
    }
    return blocks;
  }

  private void assertDelivered(CollectingListener listener, List<BlockRequest> blocks) {
    assertThat(listener.failures).isEmpty();
    for (BlockRequest block : blocks) {
      assertThat(listener.blocks.get(block.tag()))
          .as("block %d", block.tag())
          .isEqualTo(expected(block));
    }
    assertThat(listener.calls()).isEqualTo(blocks.size());
  }

  private byte[] expected(BlockRequest block) {
    return outputs.stream()
        .filter(output -> output.ref().mapId() == block.descriptor().mapId())
        .findFirst()
        .orElseThrow()
        .expected(block.startPartition(), block.endPartition());
  }

  @Test
  void blocksOfSeveralMapOutputsAreDeliveredWhole() throws Exception {
    TestMapOutput first = publish(1, 1000, 0, 5_000_000, 17);
    TestMapOutput second = publish(2, 64, 65_536, 1, 1 << 20);
    List<BlockRequest> blocks = List.of(
        first.block(0, 0, 1),
        first.block(1, 1, 2),
        first.block(2, 2, 3),
        first.block(3, 3, 4),
        second.block(4, 0, 4));
    assertDelivered(fetch(blocks), blocks);
    assertThat(fetcher.stats().bytesDelivered.sum()).isEqualTo(1000 + 5_000_017 + 1_114_177);
  }

  @Test
  @OnSoftDevice("counts work requests")
  void sixtyFourSmallBlocksNeedAtMostOneSignalledWorkRequestInEight() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(64, 10_000);
    fetch(blocks.subList(0, 1));
    SoftCounters start = TestTransports.verbs().softCounters();
    assertDelivered(fetch(blocks), blocks);
    SoftCounters end = TestTransports.verbs().softCounters();
    long posted = end.sendWrPosted() - start.sendWrPosted();
    long signalled = end.sendWrSignalled() - start.sendWrSignalled();
    assertThat(posted).isGreaterThanOrEqualTo(64);
    assertThat(signalled).isBetween(1L, posted / 8);
  }

  @Test
  void descriptorsAreReadOnce() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(8, 1000);
    fetch(blocks);
    fetch(blocks);
    assertThat(fetcher.stats().descriptorsRead.sum()).isEqualTo(8);
    fetcher.forgetShuffle(blocks.get(0).descriptor().shuffleId());
    fetch(blocks);
    assertThat(fetcher.stats().descriptorsRead.sum()).isEqualTo(16);
  }

  @Test
  void theHeadersOfDescriptorsAreReadAgainAfterTheirLease() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(8, 1000);
    fetcher.close();
    fetcher = new BlockFetcher(reader, new FetchSettings(4, 200, LEASE_MS));
    for (int round = 1; round <= 2; round++) {
      assertDelivered(fetch(blocks), blocks);
      await(Deadline.afterMs(LEASE_MS));
      assertThat(fetcher.stats().descriptorsRead.sum()).isEqualTo(8);
      assertThat(fetcher.stats().descriptorsRenewed.sum()).isEqualTo(8L * (round - 1));
    }
  }

  private static void await(Deadline lease) throws InterruptedException {
    while (!lease.expired()) {
      TimeUnit.MILLISECONDS.sleep(lease.remainingMs());
    }
  }

  /** What an owner does first and last with an output that it withdraws. */
  private static void giveBack(TestMapOutput output) throws IOException {
    MapOutputDescriptor.withdraw(output.descriptor().buffer());
    output.region().close();
  }

  @Test
  void noReadIsPostedAfterALeaseThatEndedDuringTheWaitForABuffer() throws Exception {
    closeReader();
    reader = TestTransports.open("reader", TestTransports.settings(0, 1 << 20));
    fetcher = new BlockFetcher(reader, new FetchSettings(4, 60_000, LEASE_MS));
    List<BlockRequest> blocks = oneBlockOfEach(1, 60_000);
    assertDelivered(fetch(blocks), blocks);
    Deadline lease = Deadline.afterMs(LEASE_MS);
    TestTransports.awaitNoLeases(reader);
    List<RegisteredBuffer> held = new ArrayList<>();
    while (reader.buffers().usage().leasedBytes() < 1 << 20) {
      held.add(reader.buffers().acquire(64 << 10, Deadline.afterMs(5_000)));
    }
    CollectingListener listener = new CollectingListener(1);
    fetcher.fetch(peer, null, blocks, listener);
    await(lease);
    giveBack(outputs.get(0));
    held.forEach(RegisteredBuffer::release);
    assertThat(listener.await().failures).isEqualTo(Map.of(0L, TcpReason.WITHDRAWN));
    assertThat(reader.stats().reconnects.sum()).as("broken connections").isZero();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void noReadIsPostedAfterALeaseThatEndedDuringTheWaitForRoomInTheSendQueue(boolean streamed)
      throws Exception {
    closeReader();
    int depth = 16;
    reader = TestTransports.open(
        "reader",
        TestTransports.with(
            TestTransports.settings(0, 64 << 20),
            Map.of("sendQueueDepth", depth, "readsPerList", depth)));
    fetcher = new BlockFetcher(reader, new FetchSettings(4, 200, LEASE_MS));
    TestMapOutput output = publish(1, 1000);
    List<BlockRequest> blocks =
        List.of(new BlockRequest(0, output.ref(), 0, 1, streamed ? piece -> {} : null));
    assertThat(fetch(blocks).failures).isEmpty();
    Deadline lease = Deadline.afterMs(LEASE_MS);
    Connection connection = reader.connections().connect(peer, null, Deadline.afterMs(20_000));
    RegisteredBuffer sink = reader.buffers().acquire(64, Deadline.afterMs(5_000));
    HeldPoller poller = new HeldPoller();
    connection.post(List.of(readOf(output)), sink, poller, Deadline.afterMs(5_000));
    poller.held.await();
    for (int i = 0; i < depth; i++) {
      connection.post(
          List.of(readOf(output)), sink, new AwaitedCompletion(), Deadline.afterMs(5_000));
    }
    sink.release();
    CollectingListener listener = new CollectingListener(1);
    fetcher.fetch(peer, null, blocks, listener);
    await(lease);
    giveBack(output);
    poller.goOn.countDown();
    assertThat(listener.await().failures).isEqualTo(Map.of(0L, TcpReason.WITHDRAWN));
    assertThat(reader.stats().reconnects.sum()).as("broken connections").isZero();
  }

  private static Read readOf(TestMapOutput output) {
    return new Read(output.ref().address(), output.ref().rkey(), 64, 0);
  }

  /** Keeps the poller, so that no place in the send queue becomes free. */
  private static final class HeldPoller implements ReadCompletion {
    final CountDownLatch held = new CountDownLatch(1);
    final CountDownLatch goOn = new CountDownLatch(1);

    @Override
    public void succeeded() {
      held.countDown();
      try {
        assertThat(goOn.await(60, TimeUnit.SECONDS)).isTrue();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    @Override
    public void failed(ReadFailure failure) {
      held.countDown();
    }
  }

  @Test
  @OnSoftDevice("counts READs")
  void ofALargeDescriptorOnlyTheWindowsNeededAreRead() throws Exception {
    TestMapOutput output = publish(1, partitionsOf(11, 3000));
    SoftCounters start = TestTransports.verbs().softCounters();
    List<BlockRequest> blocks = List.of(output.block(0, 2000, 2001), output.block(1, 2999, 3000));
    assertDelivered(fetch(blocks.subList(0, 1)), blocks.subList(0, 1));
    SoftCounters end = TestTransports.verbs().softCounters();
    long window = (KnownDescriptor.WINDOW_PARTITIONS + 1) * 16;
    assertThat(TestDevice.readBytes(end) - TestDevice.readBytes(start))
        .isEqualTo((64 << 10) + 64 + window + 11);
    assertDelivered(fetch(blocks.subList(1, 2)), blocks.subList(1, 2));
  }

  @Test
  void eachWindowOfALargeDescriptorIsReadOnce() throws Exception {
    TestMapOutput output = publish(1, partitionsOf(11, 1000));
    for (int round = 0; round < 2; round++) {
      for (int partition = 0; partition < 1000; partition += 50) {
        List<BlockRequest> block = List.of(output.block(0, partition, partition + 1));
        assertDelivered(fetch(block), block);
      }
      assertThat(fetcher.stats().descriptorsRead.sum()).isEqualTo(4);
    }
  }

  @Test
  void aBlockMayReachOverSeveralWindows() throws Exception {
    TestMapOutput output = publish(1, partitionsOf(11, 1000));
    List<BlockRequest> known = List.of(output.block(0, 300, 301));
    assertDelivered(fetch(known), known);
    List<BlockRequest> blocks = List.of(output.block(0, 255, 513), output.block(1, 0, 1000));
    assertDelivered(fetch(blocks), blocks);
    assertThat(fetcher.stats().descriptorsRead.sum()).isEqualTo(2);
  }

  private static long[] partitionsOf(long lengthBytes, int partitions) {
    long[] lengths = new long[partitions];
    Arrays.fill(lengths, lengthBytes);
    return lengths;
  }

  @Test
  void eightThreadsShareOneQueuePair() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(16, 100_000);
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Callable<CollectingListener>> fetches = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        fetches.add(() -> fetch(blocks));
      }
      for (Future<CollectingListener> fetch : threads.invokeAll(fetches)) {
        assertDelivered(fetch.get(), blocks);
      }
    } finally {
      threads.shutdownNow();
    }
    assertThat(reader.stats().connectionsOpened.sum()).isEqualTo(1);
    assertThat(reader.outboundConnections()).isEqualTo(1);
    assertThat(owner.inboundConnections()).isEqualTo(1);
  }

  @Test
  void aStaleLocationFailsAloneAndTheOthersComeOverANewConnection() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(16, 10_000);
    assertDelivered(fetch(blocks), blocks);
    outputs.get(5).region().close();
    CollectingListener listener = fetch(blocks);
    assertThat(listener.failures).isEqualTo(Map.of(5L, TcpReason.REMOTE_ACCESS));
    assertThat(listener.blocks).hasSize(15);
    assertThat(reader.stats().reconnects.sum()).isEqualTo(1);
    List<BlockRequest> good = blocks.subList(6, 16);
    assertDelivered(fetch(good), good);
  }

  @Test
  void aWithdrawnDescriptorFailsItsBlockAlone() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    MapOutputDescriptor.withdraw(outputs.get(2).descriptor().buffer());
    CollectingListener listener = fetch(blocks);
    assertThat(listener.failures).isEqualTo(Map.of(2L, TcpReason.WITHDRAWN));
    assertThat(listener.blocks).hasSize(3);
    assertThat(reader.stats().reconnects.sum()).isZero();
  }

  @Test
  void tamperedBytesAreReadTwiceAndNeverDelivered() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    outputs.get(1).tamper(5_000);
    CollectingListener listener = fetch(blocks);
    assertThat(listener.failures).isEqualTo(Map.of(1L, TcpReason.CHECKSUM));
    assertThat(listener.blocks).hasSize(3);
    assertThat(fetcher.stats().checksumMismatches.sum()).isEqualTo(2);
    assertThat(fetcher.stats().retries.sum()).isEqualTo(1);
  }

  @Test
  @OnSoftDevice("elsewhere pinned pages stay as they were")
  void blocksOfAFileCutShortFailAloneAndItsOwnerLives() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    outputs.get(1).cutShort();
    CollectingListener listener = fetch(blocks);
    assertThat(listener.failures).isEqualTo(Map.of(1L, TcpReason.READ_ERROR));
    assertThat(listener.blocks).hasSize(3);
  }

  @Test
  void aDeletedFileIsReadAsItWas() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    outputs.get(1).delete();
    assertDelivered(fetch(blocks), blocks);
  }

  /** The peer's rdma_cm takes connects, and nobody there ever answers one. */
  @Test
  void aPeerThatKeepsItsFetchesWaitingKeepsNobodyElseWaiting() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    List<CollectingListener> waiting = new ArrayList<>();
    try (EventChannel unread = EventChannel.open();
        ConnectionId mute = unread.createId()) {
      mute.bind(new InetSocketAddress(TestDevice.address(), 0));
      mute.listen(8);
      InetSocketAddress at = Objects.requireNonNull(mute.localAddress());
      PeerId silent = new PeerId(
          "silent",
          new RdmaEndpoint(at.getAddress().getHostAddress(), at.getPort(), Nonce.random()));
      for (int i = 0; i < 16; i++) {
        CollectingListener listener = new CollectingListener(blocks.size());
        waiting.add(listener);
        fetcher.fetch(silent, null, blocks, listener);
      }
      assertDelivered(fetch(blocks), blocks);
      assertThat(waiting).allMatch(listener -> listener.calls() == 0);
      closeReader();
    }
    for (CollectingListener listener : waiting) {
      assertThat(listener.await().failures.values()).containsOnly(TcpReason.CLOSED);
    }
  }

  @Test
  void withoutABufferInTimeABlockFails() throws Exception {
    closeReader();
    openReader(1 << 20);
    List<BlockRequest> blocks = oneBlockOfEach(2, 60_000);
    fetch(blocks.subList(0, 1));
    TestTransports.awaitNoLeases(reader);
    List<RegisteredBuffer> held = new ArrayList<>();
    while (reader.buffers().usage().leasedBytes() < 1 << 20) {
      held.add(reader.buffers().acquire(64 << 10, Deadline.afterMs(5_000)));
    }
    CollectingListener listener = fetch(blocks.subList(0, 1));
    assertThat(listener.failures).isEqualTo(Map.of(0L, TcpReason.POOL));
    held.forEach(RegisteredBuffer::release);
    assertDelivered(fetch(blocks), blocks);
  }

  @Test
  void aBlockLargerThanThePoolIsStreamedToItsSink() throws Exception {
    closeReader();
    openReader(8 << 20);
    TestMapOutput output = publish(1, 10, 20_000_000, 0, 3_000_000);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    BlockSink sink = piece -> Channels.newChannel(bytes).write(piece);
    CollectingListener listener =
        fetch(List.of(new BlockRequest(9, output.ref(), 1, 4, sink), output.block(10, 1, 2)));
    assertThat(listener.streamed).isEqualTo(Map.of(9L, 23_000_000L));
    assertThat(bytes.toByteArray()).isEqualTo(output.expected(1, 4));
    assertThat(listener.failures).isEqualTo(Map.of(10L, TcpReason.TOO_LARGE));
  }

  @Test
  void aRefusedLocationOfAStreamedBlockIsForgotten() throws Exception {
    TestMapOutput output = publish(1, 1000, 2000);
    BlockRequest streamed = new BlockRequest(1, output.ref(), 0, 1, piece -> {});
    assertThat(fetch(List.of(streamed)).streamed).isEqualTo(Map.of(1L, 1000L));
    output.region().close();
    assertThat(fetch(List.of(streamed)).failures).isEqualTo(Map.of(1L, TcpReason.REMOTE_ACCESS));
    MapOutputDescriptor.withdraw(output.descriptor().buffer());
    assertThat(fetch(List.of(streamed)).failures)
        .as("its descriptor is read again")
        .isEqualTo(Map.of(1L, TcpReason.WITHDRAWN));
  }

  /** Many a list of READs finds the lease of its descriptor over. */
  @Test
  void manyListsComeWithAShortLease() throws Exception {
    closeReader();
    reader = TestTransports.open("reader", TestTransports.settings(0, 256 << 10));
    fetcher = new BlockFetcher(reader, new FetchSettings(4, 10_000, 10));
    long[] lengths = new long[2_000];
    Arrays.fill(lengths, 8_300);
    TestMapOutput output = publish(1, lengths);
    List<BlockRequest> blocks = new ArrayList<>();
    for (int i = 0; i < lengths.length; i++) {
      blocks.add(output.block(i, i, i + 1));
    }
    assertDelivered(fetch(blocks), blocks);
  }

  @Test
  void aSinkThatFailsFailsItsBlockAlone() throws Exception {
    TestMapOutput output = publish(1, 1000, 2000);
    BlockSink full = piece -> {
      throw new IOException("no space left on device");
    };
    CollectingListener listener =
        fetch(List.of(new BlockRequest(1, output.ref(), 0, 1, full), output.block(2, 1, 2)));
    assertThat(listener.failures).isEqualTo(Map.of(1L, TcpReason.SINK));
    assertThat(listener.blocks.get(2L)).isEqualTo(output.expected(1, 2));
  }

  @Test
  void noBufferOfACancelledFetchComesBackWhileItMayBeWritten() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(32, 200_000);
    byte[] poison = new byte[1 << 20];
    java.util.Arrays.fill(poison, (byte) 0xDE);
    for (int round = 0; round < 100; round++) {
      CollectingListener listener = new CollectingListener(blocks.size());
      FetchToken token = fetcher.fetch(peer, null, blocks, listener);
      if (round % 3 > 0) {
        TimeUnit.MICROSECONDS.sleep(round * 50L);
      }
      token.cancel();
      RegisteredBuffer buffer = reader.buffers().acquire(1 << 20, Deadline.afterMs(10_000));
      ByteBuffer view = buffer.nioBuffer(0, 1 << 20);
      view.duplicate().put(poison);
      assertDelivered(fetch(blocks), blocks);
      assertThat(view.mismatch(ByteBuffer.wrap(poison))).as("round %d", round).isEqualTo(-1);
      buffer.release();
      assertThat(listener.failures).isEmpty();
    }
  }

  @Test
  void anEarlierRunOfThePeerIsANonceMismatch() throws Exception {
    RdmaEndpoint real = owner.endpoint();
    PeerId earlier = new PeerId(OWNER, new RdmaEndpoint(real.host(), real.port(), Nonce.random()));
    List<BlockRequest> blocks = oneBlockOfEach(2, 100);
    CollectingListener listener = fetch(earlier, blocks);
    assertThat(listener.failures.values()).containsOnly(TcpReason.NONCE);
    assertDelivered(fetch(blocks), blocks);
  }

  @Test
  void aPeerWithAnotherSecretIsRejected() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(1, 100);
    byte[] guess = "guess".getBytes(StandardCharsets.UTF_8);
    try (RdmaTransport stranger =
            TestTransports.open("stranger", TestTransports.settings(0, 1 << 20), guess);
        BlockFetcher fetches = new BlockFetcher(stranger, new FetchSettings(2, 100, 60_000))) {
      CollectingListener listener = new CollectingListener(1);
      fetches.fetch(peer, null, blocks, listener);
      assertThat(listener.await().failures).isEqualTo(Map.of(0L, TcpReason.REJECTED));
    }
    assertThat(owner.stats().connectionsRejected.sum()).isEqualTo(1);
  }

  @Test
  void aPeerThatIsGoneFailsItsBlocksAtOnceAndIsThenLeftAlone() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(1, 100);
    PeerId gone = new PeerId(
        OWNER, new RdmaEndpoint(TestDevice.address().getHostAddress(), 1, Nonce.random()));
    for (int i = 0; i < 3; i++) {
      assertThat(fetch(gone, blocks).failures.values()).containsOnly(TcpReason.CONNECT);
    }
    assertThat(fetch(gone, blocks).failures.values()).containsOnly(TcpReason.BREAKER);
    assertThat(reader.stats().connectFailures.sum()).isEqualTo(3);
    assertDelivered(fetch(blocks), blocks);
  }

  @Test
  void blocksOfAClosedFetcherFailAsClosed() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 100);
    fetcher.close();
    assertThat(fetch(blocks).failures.values()).containsOnly(TcpReason.CLOSED);
  }

  @Test
  void anOwnerThatClosesInBetweenIsFoundGone() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 100);
    assertDelivered(fetch(blocks), blocks);
    for (TestMapOutput output : outputs) {
      output.close();
    }
    arena.close();
    owner.close();
    CollectingListener listener = fetch(blocks);
    assertThat(listener.blocks).isEmpty();
    assertThat(listener.failures.values())
        .allMatch(reason -> reason == TcpReason.CONNECT || reason == TcpReason.READ_ERROR);
  }

  @Test
  void blocksThatTheListenerDoesNotTakeAreReportedFailedAndTheOthersCome() throws Exception {
    TestMapOutput output = publish(1, 1000, 0, 3000, 4000, 5000);
    List<BlockRequest> blocks = List.of(
        output.block(0, 0, 1),
        output.block(1, 1, 2),
        output.block(2, 2, 3),
        new BlockRequest(3, output.ref(), 3, 4, piece -> {}),
        output.block(4, 4, 5));
    CollectingListener listener = new CollectingListener(blocks.size());
    fetcher.fetch(peer, null, blocks, new TakingSome(List.of(2L, 4L), listener));
    assertThat(listener.await().failures)
        .isEqualTo(Map.of(
            0L, TcpReason.INTERNAL,
            1L, TcpReason.INTERNAL,
            3L, TcpReason.INTERNAL));
    assertThat(listener.blocks.get(2L)).isEqualTo(output.expected(2, 3));
    assertThat(listener.blocks.get(4L)).isEqualTo(output.expected(4, 5));
    assertDelivered(fetch(blocks.subList(0, 1)), blocks.subList(0, 1));
  }

  /** Has no memory for the other blocks. */
  private record TakingSome(List<Long> tags, FetchListener taken) implements FetchListener {
    @Override
    public void onSuccess(long tag, RegisteredSlice block) {
      if (!tags.contains(tag)) {
        block.release();
        throw new OutOfMemoryError("of a test");
      }
      taken.onSuccess(tag, block);
    }

    @Override
    public void onStreamed(long tag, long lengthBytes) {
      throw new OutOfMemoryError("of a test");
    }

    @Override
    public void onFailure(long tag, TcpReason reason, Throwable cause) {
      taken.onFailure(tag, reason, cause);
    }
  }
}
