/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.AwaitedCompletion;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PausedPoller;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.BlockRequest;
import org.shufflerdma.fetch.BlockSink;
import org.shufflerdma.fetch.CollectingListener;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.fetch.FetcherScene;
import org.shufflerdma.fetch.TestMapOutput;
import org.shufflerdma.fetch.descriptor.Neighbourhoods;
import org.shufflerdma.fetch.direct.DirectFetch.LeftBlock;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.verbs.OnSoftDevice;
import org.shufflerdma.verbs.SoftCounters;
import org.shufflerdma.verbs.TestDevice;

/** Blocks that the calling thread reads itself. */
@Timeout(120)
class DirectFetchTest extends FetcherScene {
  private static final DirectFetch.Limits WIDE = new DirectFetch.Limits(48 << 20, 100, 10_000);
  private static final int SLAB = 64 << 10;

  /** A wait that would be noticed. */
  private static final int LONG_MS = 15_000;

  private static PeerBlocks of(PeerId peer, List<BlockRequest> blocks) {
    PeerBlocks reads = new PeerBlocks(peer, null);
    blocks.forEach(
        block -> reads.add(block.descriptor(), block.startPartition(), block.endPartition()));
    return reads;
  }

  private FetchOutcome read(List<BlockRequest> blocks) throws InterruptedException {
    return read(WIDE, blocks);
  }

  private FetchOutcome read(DirectFetch.Limits limits, List<BlockRequest> blocks)
      throws InterruptedException {
    return read(limits, of(peer, blocks));
  }

  private FetchOutcome read(DirectFetch.Limits limits, PeerBlocks... peers)
      throws InterruptedException {
    FetchOutcome outcome = readBesideLeases(limits, peers);
    TestTransports.awaitNoLeases(reader);
    return outcome;
  }

  /** Reads while the test may itself lease buffers. */
  private FetchOutcome readBesideLeases(DirectFetch.Limits limits, PeerBlocks... peers)
      throws InterruptedException {
    try (DirectFetch fetch = fetcher.direct(List.of(peers), limits, () -> {})) {
      return FetchOutcome.of(fetch);
    }
  }

  private void assertRead(FetchOutcome outcome, List<BlockRequest> blocks) {
    assertThat(outcome.left()).isEmpty();
    assertThat(outcome.blocks()).hasSize(blocks.size());
    for (int i = 0; i < blocks.size(); i++) {
      assertThat(outcome.blocks().get(i)).as("block %d", i).isEqualTo(expected(blocks.get(i)));
    }
  }

  @Test
  void itStartsNoWorker() throws Exception {
    TestMapOutput output = publish(1, 100, 200);
    read(List.of(output.block(0, 0, 1), output.block(1, 1, 2)));
    assertThat(Thread.getAllStackTraces().keySet())
        .extracting(Thread::getName)
        .noneMatch(name -> name.startsWith("rdma-fetch-"));
  }

  /** Of a wide cluster, whose executors share the partitions: descriptors are not to outweigh small blocks. */
  @Test
  @OnSoftDevice("counts READs")
  void scatteredPartitionsCostLittleMoreThanTheirBytes() throws Exception {
    int blockBytes = 2 << 10;
    long[] lengths = new long[1_000];
    Arrays.fill(lengths, blockBytes);
    List<TestMapOutput> outputs = new ArrayList<>();
    for (int map = 0; map < 2 * Neighbourhoods.LEAST_SHARE; map++) {
      outputs.add(publish(map, lengths));
    }
    read(List.of(outputs.get(0).block(0, 0, 1))); // connects
    long before = TestDevice.readBytes(TestTransports.verbs().softCounters());
    long delivered = 0;
    for (int partition = 90; partition < lengths.length; partition += 300) {
      List<PeerBlocks> owners = new ArrayList<>();
      for (TestMapOutput output : outputs) {
        owners.add(of(peer, List.of(output.block(0, partition, partition + 1))));
      }
      try (DirectFetch fetch = fetcher.direct(owners, WIDE, () -> {})) {
        while (fetch.next()) {
          delivered += fetch.bytes().lengthBytes();
        }
      }
    }
    assertThat(delivered).isEqualTo(4L * outputs.size() * blockBytes);
    long read = TestDevice.readBytes(TestTransports.verbs().softCounters()) - before;
    assertThat(read / (double) delivered).isBetween(1.0, 1.15);
  }

  @Test
  void blocksOfSeveralMapOutputsAndOfSeveralPartitionsComeWhole() throws Exception {
    TestMapOutput first = publish(1, 100, 20_000, 0, 3_000);
    TestMapOutput second = publish(2, 64, 5_000_000);
    List<BlockRequest> blocks = new ArrayList<>(List.of(
        first.block(0, 0, 1),
        first.block(1, 1, 2),
        first.block(2, 1, 4),
        second.block(3, 1, 2),
        second.block(4, 0, 2)));
    for (int mapId = 3; mapId < 200; mapId++) {
      blocks.add(publish(mapId, 100, 7_000).block(mapId, 1, 2));
    }
    assertRead(read(blocks), blocks);
  }

  @Test
  @OnSoftDevice("counts work requests")
  void neighboursShareReadsAndListsShareCompletions() throws Exception {
    long[] lengths = new long[512];
    Arrays.fill(lengths, 500);
    TestMapOutput output = publish(1, lengths);
    List<BlockRequest> blocks = new ArrayList<>();
    for (int i = 0; i < lengths.length; i++) {
      blocks.add(output.block(i, i, i + 1));
    }
    assertRead(read(blocks), blocks);
    SoftCounters start = TestTransports.verbs().softCounters();
    assertRead(read(blocks), blocks);
    SoftCounters end = TestTransports.verbs().softCounters();
    assertThat(end.sendWrPosted() - start.sendWrPosted()).isEqualTo(2); // 256 blocks in each list
    assertThat(end.sendWrSignalled() - start.sendWrSignalled()).isEqualTo(2);
    assertThat(fetcher.stats().descriptorsRead.sum()).isEqualTo(2); // one for each 256 entries
  }

  /** The buffers that a task holds are those of the list that it consumes and of lists in flight. */
  private long mostBuffers(DirectFetch.Limits limits, List<BlockRequest> blocks)
      throws InterruptedException {
    long most = 0;
    try (DirectFetch fetch = fetcher.direct(List.of(of(peer, blocks)), limits, () -> {})) {
      while (fetch.next()) {
        most = Math.max(most, reader.buffers().usage().leasedBuffers());
      }
    }
    return most;
  }

  @Test
  void aTaskReadsAheadWithinItsLimits() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(120, 30_000); // four lists of 1 MiB
    assertThat(mostBuffers(WIDE, blocks)).isGreaterThanOrEqualTo(3);
    DirectFetch.Limits oneList = new DirectFetch.Limits(48 << 20, 1, 10_000);
    assertThat(mostBuffers(oneList, blocks)).isEqualTo(2);
    assertRead(read(oneList, blocks), blocks);
  }

  @Test
  @OnSoftDevice("counts work requests")
  void limitsOfBytesAndOfBlocksOfAPeerMakeListsOfSingleBlocks() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(40, 30_000);
    read(blocks);
    for (DirectFetch.Limits limits :
        List.of(new DirectFetch.Limits(1, 100, 10_000), new DirectFetch.Limits(48 << 20, 100, 1))) {
      long start = TestTransports.verbs().softCounters().sendWrSignalled();
      assertRead(read(limits, blocks), blocks);
      assertThat(TestTransports.verbs().softCounters().sendWrSignalled() - start)
          .isGreaterThanOrEqualTo(40);
    }
  }

  @Test
  void tasksReadSideBySide() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(64, 20_000);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Callable<FetchOutcome>> reads = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        reads.add(() -> read(blocks));
      }
      for (Future<FetchOutcome> read : threads.invokeAll(reads)) {
        assertRead(read.get(), blocks);
      }
      assertThat(reader.stats().connectionsOpened.sum()).isEqualTo(1);
    } finally {
      threads.shutdownNow();
    }
  }

  /** The descriptors are known before, as other threads tell of their completions. */
  @Test
  void aStaleLocationIsLeftAloneAndTheOthersComeOverANewConnection() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(16, 10_000);
    assertRead(read(blocks), blocks);
    outputs.get(5).region().close();
    FetchOutcome outcome = read(blocks);
    assertThat(outcome.left()).isEqualTo(Map.of(5, TcpReason.REMOTE_ACCESS));
    assertThat(outcome.blocks()).hasSize(15);
    assertThat(reader.stats().reconnects.sum()).isEqualTo(1);
  }

  @Test
  void aDescriptorThatIsGoneLeavesItsBlocksAlone() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(16, 10_000);
    outputs.get(5).descriptor().close();
    FetchOutcome outcome = read(blocks);
    assertThat(outcome.left().keySet()).containsExactly(5);
    assertThat(outcome.blocks()).hasSize(15);
  }

  @Test
  void tamperedBytesAreReadTwiceAndNeverHandedOut() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    outputs.get(1).tamper(5_000);
    FetchOutcome outcome = read(blocks);
    assertThat(outcome.left()).isEqualTo(Map.of(1, TcpReason.CHECKSUM));
    assertThat(outcome.blocks()).hasSize(3);
    assertThat(fetcher.stats().checksumMismatches.sum()).isEqualTo(2);
    assertThat(fetcher.stats().retries.sum()).isEqualTo(1);
  }

  @Test
  void emptyBlocksAndThoseBeyondThePoolAreLeft() throws Exception {
    closeReader();
    openReader(8 << 20);
    TestMapOutput output = publish(1, 0, 20_000_000, 100);
    FetchOutcome outcome =
        read(List.of(output.block(0, 0, 1), output.block(1, 1, 2), output.block(2, 2, 3)));
    assertThat(outcome.left()).isEqualTo(Map.of(0, TcpReason.ZERO_LENGTH, 1, TcpReason.TOO_LARGE));
    assertThat(outcome.blocks().get(2)).isEqualTo(output.expected(2, 3));
  }

  @Test
  void withoutABufferInTimeBlocksAreLeft() throws Exception {
    closeReader();
    openReader(1 << 20);
    List<BlockRequest> blocks = oneBlockOfEach(2, 60_000);
    read(blocks);
    List<RegisteredBuffer> held = new ArrayList<>();
    while (reader.buffers().usage().leasedBytes() < 1 << 20) {
      held.add(reader.buffers().acquire(64 << 10, Deadline.afterMs(5_000)));
    }
    FetchOutcome outcome;
    try (DirectFetch fetch = fetcher.direct(List.of(of(peer, blocks)), WIDE, () -> {})) {
      assertThat(fetch.next()).isFalse();
      assertThat(fetch.left()).extracting(LeftBlock::reason).containsOnly(TcpReason.POOL);
    }
    held.forEach(RegisteredBuffer::release);
    outcome = read(blocks);
    assertRead(outcome, blocks);
  }

  /** Reopens the reader with a pool of 16 slabs of 64 KiB, and has it connect. */
  private void openSmallPool(int poolWaitMs) throws Exception {
    closeReader();
    reader = TestTransports.open("reader", TestTransports.settings(0, 1 << 20));
    fetcher = new BlockFetcher(reader, new FetchSettings(4, poolWaitMs, 60_000));
    assertThat(read(List.of(publish(1_000, 100).block(0, 0, 1))).left()).isEmpty();
  }

  /** Leases all of that pool but for some slabs, until the buffers are released. */
  private List<RegisteredBuffer> leaseAllBut(int slabs) throws Exception {
    List<RegisteredBuffer> held = new ArrayList<>();
    while (reader.buffers().usage().leasedBytes() < (16L - slabs) * SLAB) {
      held.add(reader.buffers().acquire(SLAB, Deadline.afterMs(5_000)));
    }
    return held;
  }

  @Test
  void aTaskThatHoldsABufferDoesNotWaitForOneForDescriptors() throws Exception {
    openSmallPool(LONG_MS);
    List<BlockRequest> known = oneBlockOfEach(1, 60_000);
    assertRead(read(known), known);
    List<BlockRequest> unknown = List.of(publish(1, 100, 60_000).block(0, 1, 2));
    List<RegisteredBuffer> held = leaseAllBut(1);
    PeerBlocks second = of(peer, unknown);
    try (DirectFetch fetch = fetcher.direct(List.of(of(peer, known), second), WIDE, () -> {})) {
      assertThat(fetch.next()).isTrue();
      assertThat(fetch.next()).isTrue();
      assertThat(fetch.peer()).isSameAs(second);
      assertThat(fetch.next()).isFalse();
      assertThat(fetch.left()).isEmpty();
      assertThat(fetch.waitedNs()).isLessThan(TimeUnit.MILLISECONDS.toNanos(LONG_MS));
    }
    held.forEach(RegisteredBuffer::release);
  }

  @Test
  void listsOfDescriptorsDoNotWaitForEachOthersBuffers() throws Exception {
    openSmallPool(LONG_MS);
    long[] lengths = new long[4_000]; // of which the entries take most of a slab
    Arrays.fill(lengths, 1);
    List<BlockRequest> blocks =
        List.of(publish(1, lengths).block(0, 0, 4_000), publish(2, lengths).block(1, 0, 4_000));
    List<RegisteredBuffer> held = leaseAllBut(1);
    long startNs = System.nanoTime();
    assertRead(readBesideLeases(WIDE, of(peer, blocks)), blocks);
    assertThat(System.nanoTime() - startNs).isLessThan(TimeUnit.MILLISECONDS.toNanos(LONG_MS));
    held.forEach(RegisteredBuffer::release);
  }

  @Test
  void aDescriptorWithoutABufferLeavesNoBlocksButItsOwn() throws Exception {
    openSmallPool(100);
    long[] lengths = new long[20_000]; // of which the entries take more than the slab that is free
    Arrays.fill(lengths, 1);
    List<BlockRequest> blocks =
        List.of(publish(1, lengths).block(0, 0, 20_000), publish(2, 100).block(1, 0, 1));
    List<RegisteredBuffer> held = leaseAllBut(1);
    try (DirectFetch fetch = fetcher.direct(List.of(of(peer, blocks)), WIDE, () -> {})) {
      assertThat(fetch.next()).isTrue();
      assertThat(fetch.block()).isEqualTo(1);
      assertThat(fetch.next()).isFalse();
      assertThat(fetch.left()).singleElement().satisfies(block -> {
        assertThat(block.block()).isZero();
        assertThat(block.reason()).isEqualTo(TcpReason.POOL);
      });
    }
    held.forEach(RegisteredBuffer::release);
  }

  @Test
  void theDescriptorsOfAllPeersWaitOnceForABuffer() throws Exception {
    openSmallPool(1_000);
    List<PeerBlocks> peers = new ArrayList<>();
    for (BlockRequest block : oneBlockOfEach(6, 100)) {
      peers.add(of(peer, List.of(block)));
    }
    List<RegisteredBuffer> held = leaseAllBut(0);
    try (DirectFetch fetch = fetcher.direct(peers, WIDE, () -> {})) {
      assertThat(fetch.next()).isFalse();
      assertThat(fetch.left()).hasSize(6);
      assertThat(fetch.left()).extracting(LeftBlock::reason).containsOnly(TcpReason.POOL);
      assertThat(fetch.waitedNs())
          .isBetween(TimeUnit.SECONDS.toNanos(1), TimeUnit.SECONDS.toNanos(3));
    }
    held.forEach(RegisteredBuffer::release);
  }

  @Test
  void aDescriptorIsTrustedForItsLeaseOnly() throws Exception {
    closeReader();
    reader = TestTransports.open("reader", TestTransports.settings(0, 256 << 10));
    fetcher = new BlockFetcher(reader, new FetchSettings(4, 10_000, 10));
    long[] lengths = new long[400];
    Arrays.fill(lengths, 8_300);
    TestMapOutput output = publish(1, lengths);
    List<BlockRequest> blocks = new ArrayList<>();
    for (int i = 0; i < lengths.length; i += 2) { // no neighbours, so that there are many lists
      blocks.add(output.block(i, i, i + 1));
    }
    FetchOutcome outcome = new FetchOutcome();
    try (DirectFetch fetch = fetcher.direct(List.of(of(peer, blocks)), WIDE, () -> {})) {
      while (fetch.next()) {
        outcome.take(fetch);
        if (outcome.blocks().size() % 40
            == 0) { // of which some need no entries that have not been read
          TimeUnit.MILLISECONDS.sleep(20); // past the lease
        }
      }
    }
    assertRead(outcome, blocks);
    assertThat(fetcher.stats().descriptorsRenewed.sum()).isPositive();
  }

  private static PeerId gone() {
    return new PeerId(
        OWNER, new RdmaEndpoint(TestDevice.address().getHostAddress(), 1, Nonce.random()));
  }

  @Test
  void aPeerThatIsGoneLeavesItsBlocksAndNobodyElses() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 10_000);
    PeerBlocks unreadable = of(gone(), blocks);
    PeerBlocks readable = of(peer, blocks);
    int read = 0;
    try (DirectFetch fetch = fetcher.direct(List.of(unreadable, readable), WIDE, () -> {})) {
      for (; fetch.next(); read++) {
        assertThat(fetch.peer()).isSameAs(readable);
      }
      assertThat(fetch.left()).hasSize(4).allMatch(block -> block.peer() == unreadable);
      assertThat(fetch.left()).extracting(LeftBlock::reason).containsOnly(TcpReason.CONNECT);
    }
    assertThat(read).isEqualTo(4);
    assertThat(readable.readNs()).isPositive();
    assertThat(unreadable.readNs()).isZero();
  }

  @Test
  void aTaskConnectsWhileAllOtherWorkersWriteToDisksThatHang() throws Exception {
    fetcher.close();
    fetcher = new BlockFetcher(reader, new FetchSettings(1, 200, 60_000));
    List<BlockRequest> blocks = oneBlockOfEach(1, 100);
    CountDownLatch writes = new CountDownLatch(1);
    Semaphore goesOn = new Semaphore(0);
    BlockSink hanging = piece -> {
      writes.countDown();
      goesOn.acquireUninterruptibly();
    };
    CollectingListener listener = new CollectingListener(1);
    fetcher.fetch(
        peer,
        null,
        List.of(new BlockRequest(0, blocks.get(0).descriptor(), 1, 2, hanging)),
        listener);
    writes.await();
    try (DirectFetch fetch = fetcher.direct(List.of(of(gone(), blocks)), WIDE, () -> {})) {
      assertThat(fetch.next()).isFalse();
      assertThat(fetch.left()).extracting(LeftBlock::reason).containsExactly(TcpReason.CONNECT);
    } finally {
      goesOn.release();
    }
    listener.await();
    assertThat(listener.streamed).containsKey(0L);
  }

  @Test
  void blocksOfAClosedFetcherAreLeftAsClosed() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(4, 100);
    fetcher.close();
    assertThat(read(blocks).left().values()).hasSize(4).containsOnly(TcpReason.CLOSED);
  }

  @Test
  void aTaskThatEndsWhileItWaitsIsWokenAndReadsNoMore() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(1, 100);
    CountDownLatch waits = new CountDownLatch(1);
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      withSilentPeer(silent -> {
        DirectFetch fetch = fetcher.direct(List.of(of(silent, blocks)), WIDE, waits::countDown);
        Future<Boolean> next = thread.submit(fetch::next);
        waits.await();
        fetch.close();
        assertThatThrownBy(next::get).hasCauseInstanceOf(IllegalStateException.class);
        closeReader();
      });
    } finally {
      thread.shutdownNow();
    }
  }

  @Test
  void aTaskThatIsKilledWhileItWaitsForADescriptorEnds() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(1, 100);
    reader.connections().connect(peer, null, Deadline.afterMs(LONG_MS));
    Runnable killed = () -> {
      if (StackWalker.getInstance()
          .walk(frames -> frames.anyMatch(
              frame -> frame.getClassName().equals(AwaitedCompletion.class.getName())))) {
        throw new CancellationException("killed");
      }
    };
    PausedPoller.during(reader, () -> {
      try (DirectFetch fetch = fetcher.direct(List.of(of(peer, blocks)), WIDE, killed)) {
        assertThatThrownBy(fetch::next).isInstanceOf(CancellationException.class);
      }
    });
    TestTransports.awaitNoLeases(reader);
  }

  @Test
  void afterItsEndAFetchHoldsNothingAndHandsOutNothing() throws Exception {
    List<BlockRequest> blocks = oneBlockOfEach(300, 10_000);
    DirectFetch fetch = fetcher.direct(List.of(of(peer, blocks)), WIDE, () -> {});
    assertThat(fetch.next()).isTrue();
    RegisteredSlice bytes = fetch.bytes();
    fetch.close();
    assertThatThrownBy(bytes::nioBuffer).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(fetch::next).isInstanceOf(IllegalStateException.class);
    TestTransports.awaitNoLeases(reader);
  }

  private static final int FETCHES = 8;

  /** Takes a block of each of a task's fetches in turn, as a join of many inputs does. */
  private List<FetchOutcome> readInTurns(List<List<BlockRequest>> inputs) throws Exception {
    TaskFetches ofTask = new TaskFetches();
    List<FetchOutcome> outcomes = new ArrayList<>();
    List<DirectFetch> open = new ArrayList<>();
    for (List<BlockRequest> blocks : inputs) {
      open.add(fetcher.direct(ofTask, List.of(of(peer, blocks)), WIDE, () -> {}));
      outcomes.add(new FetchOutcome());
    }
    int ended = 0;
    for (int i = 0; ended < inputs.size(); i++) {
      int input = i % inputs.size();
      DirectFetch fetch = open.get(input);
      if (fetch.next()) {
        outcomes.get(input).take(fetch);
        ended = 0;
      } else {
        ended++;
      }
    }
    for (int i = 0; i < open.size(); i++) {
      outcomes.get(i).takeLeft(open.get(i));
      open.get(i).close();
    }
    return outcomes;
  }

  private static final int NEVER_MS = 600_000;

  /** As many inputs as there are fetches, in lists of one block, each of which takes a slab. */
  private List<List<BlockRequest>> inputsOfATask() throws Exception {
    return Collections.nCopies(FETCHES, oneBlockOfEach(6, 50_000));
  }

  @Test
  void aTaskWithManyFetchesReadsAllBlocksWithABufferForEachFetch() throws Exception {
    openSmallPool(NEVER_MS);
    List<List<BlockRequest>> inputs = inputsOfATask();
    List<RegisteredBuffer> held = leaseAllBut(FETCHES + 2); // two for descriptors
    List<FetchOutcome> outcomes = readInTurns(inputs);
    held.forEach(RegisteredBuffer::release);
    for (int i = 0; i < FETCHES; i++) {
      assertRead(outcomes.get(i), inputs.get(i));
    }
  }

  @Test
  void aTaskDoesNotWaitForBuffersThatItsOtherFetchesHold() throws Exception {
    openSmallPool(NEVER_MS);
    List<List<BlockRequest>> inputs = inputsOfATask();
    List<RegisteredBuffer> held = leaseAllBut(FETCHES / 2);
    List<FetchOutcome> outcomes = readInTurns(inputs);
    held.forEach(RegisteredBuffer::release);
    int read = 0;
    for (FetchOutcome outcome : outcomes) {
      assertThat(outcome.blocks().size() + outcome.left().size()).isEqualTo(6);
      assertThat(outcome.left().values()).allMatch(reason -> reason == TcpReason.POOL);
      read += outcome.blocks().size();
    }
    assertThat(read).isPositive();
  }
}
