/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.fetch.direct.TaskFetches;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.LatencyHistogram;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.staging.RegisteredOutput;
import org.shufflerdma.staging.Staging;
import org.shufflerdma.staging.StagingSettings;
import org.shufflerdma.verbs.TestDevice;

/** Blocks of map outputs of which nothing is registered, so that their owner stages them. */
@Timeout(120)
class StagedFetchTest {
  private static final DirectFetch.Limits WIDE = new DirectFetch.Limits(48 << 20, 100, 10_000);
  private static final int SHUFFLE_ID = 3;
  private static final int LOAN_BYTES = 64 << 10;
  private static final int LOANS = 4;
  private static final int POOL_BYTES = 64 << 20;

  /** Longer than any test but those that wait for it, on a slow host too. */
  private static final int IDLE_MS = 60_000;

  private static final int SOON_IDLE_MS = 2_000;

  /** Long enough for a task on a slow host. */
  private static final int LEASE_MS = 1_000;

  private static final int SLAB_BYTES = LOAN_BYTES * LOANS;

  @TempDir
  Path directory;

  /** A process that reads, and may stage. */
  private final class Node implements AutoCloseable {
    final RdmaTransport transport;
    final Staging staging;
    final BlockFetcher fetcher;

    Node(String name, long stagingBytes) throws IOException {
      this(name, stagingBytes, POOL_BYTES, IDLE_MS);
    }

    Node(String name, long stagingBytes, long poolBytes, int idleMs) throws IOException {
      transport = TestTransports.open(name, TestTransports.settings(0, poolBytes));
      staging = Staging.open(
          transport,
          new CommittedOutputs() {
            @Override
            public CommittedOutputs.Files open(int shuffleId, long mapId) throws IOException {
              return CommittedOutputs.Files.open(data(mapId), index(mapId));
            }

            @Override
            public @Nullable RegisteredOutput registered(int shuffleId, long mapId) {
              return registered;
            }
          },
          new StagingSettings(
              stagingBytes, LOAN_BYTES, SLAB_BYTES, LOANS, 2, 5_000, idleMs, LEASE_MS));
      fetcher =
          new BlockFetcher(transport, staging.clients(), null, new FetchSettings(4, 1_000, 60_000));
    }

    /** What a task of this process brings and leaves, by the numbers of the blocks. */
    Outcome read(PeerBlocks... peers) throws InterruptedException {
      Outcome outcome = new Outcome(new TreeMap<>(), new TreeMap<>());
      try (DirectFetch fetch = fetcher.direct(List.of(peers), WIDE, () -> {})) {
        while (fetch.next()) {
          byte[] copy = new byte[Math.toIntExact(fetch.bytes().lengthBytes())];
          fetch.bytes().nioBuffer().get(copy);
          assertThat(fetch.origin()).isEqualTo(Origin.STAGED);
          assertThat(outcome.blocks.put(fetch.block(), copy)).as("read twice").isNull();
        }
        fetch.left().forEach(block -> outcome.left.put(block.block(), block.reason()));
      }
      return outcome;
    }

    @Override
    public void close() {
      fetcher.close();
      try {
        TestTransports.awaitNoLeases(transport);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      staging.close();
      transport.close();
    }
  }

  private record Outcome(Map<Integer, byte[]> blocks, Map<Integer, TcpReason> left) {}

  private record Block(long mapId, int startPartition, int endPartition) {}

  private final Map<Long, long[]> outputs = new HashMap<>();

  /** Where the owner says that its outputs are registered. */
  private volatile @Nullable RegisteredOutput registered;

  private TestDevice.Live before;
  private Node owner;
  private Node reader;

  @BeforeEach
  void open() throws Exception {
    before = TestDevice.live();
    owner = new Node("owner", 16 * SLAB_BYTES);
    reader = new Node("reader", 0);
  }

  @AfterEach
  void everythingIsGivenBack() throws Exception {
    reader.close();
    owner.close();
    assertThat(TestDevice.live()).isEqualTo(before);
  }

  private Path data(long mapId) {
    return directory.resolve(mapId + ".data");
  }

  private Path index(long mapId) {
    return directory.resolve(mapId + ".index");
  }

  private PeerId peer() {
    return TestTransports.peerOf("owner", owner.transport);
  }

  private void commit(long mapId, long... lengths) throws IOException {
    Files.write(data(mapId), bytesOf(mapId, lengths));
    ByteBuffer index = ByteBuffer.allocate((lengths.length + 1) * Long.BYTES);
    long end = 0;
    index.putLong(end);
    for (long length : lengths) {
      end += length;
      index.putLong(end);
    }
    Files.write(index(mapId), index.array());
    outputs.put(mapId, lengths);
  }

  private static byte[] bytesOf(long mapId, long[] lengths) {
    byte[] data = new byte[Math.toIntExact(Arrays.stream(lengths).sum())];
    new Random(mapId).nextBytes(data);
    return data;
  }

  private byte[] expected(Block block) {
    long[] lengths = Objects.requireNonNull(outputs.get(block.mapId));
    int from = (int) Arrays.stream(lengths, 0, block.startPartition).sum();
    int to = (int) Arrays.stream(lengths, 0, block.endPartition).sum();
    return Arrays.copyOfRange(bytesOf(block.mapId, lengths), from, to);
  }

  private PeerBlocks of(List<Block> blocks) {
    PeerBlocks reads = new PeerBlocks(peer(), null);
    blocks.forEach(block -> reads.add(
        DescriptorRef.unregistered(SHUFFLE_ID, block.mapId, Math.max(block.endPartition, 1)),
        block.startPartition,
        block.endPartition));
    return reads;
  }

  private void assertRead(Outcome outcome, List<Block> blocks) {
    assertThat(outcome.left).isEmpty();
    assertThat(outcome.blocks).hasSize(blocks.size());
    for (int i = 0; i < blocks.size(); i++) {
      assertThat(outcome.blocks.get(i)).as("block %d", i).isEqualTo(expected(blocks.get(i)));
    }
  }

  private List<Block> oneBlockOfEach(int count, int lengthBytes) throws IOException {
    List<Block> blocks = new ArrayList<>();
    for (int mapId = 0; mapId < count; mapId++) {
      commit(mapId, 100, lengthBytes, 100);
      blocks.add(new Block(mapId, 1, 2));
    }
    return blocks;
  }

  /** It comes in one buffer, which a large one must not take. */
  @Test
  void aStagedBlockThatIsWantedInAFileIsWrittenUnlessItIsLarge() throws Exception {
    commit(1, 50_000, 20_000_000);
    CollectingListener listener = new CollectingListener(2);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DescriptorRef output = DescriptorRef.unregistered(SHUFFLE_ID, 1, 2);
    reader.fetcher.fetch(
        peer(),
        null,
        List.of(
            new BlockRequest(
                0, output, 0, 1, piece -> Channels.newChannel(bytes).write(piece)),
            new BlockRequest(1, output, 1, 2, piece -> {
              throw new AssertionError("nothing of it is written");
            })),
        listener);
    assertThat(listener.await().streamed).isEqualTo(Map.of(0L, 50_000L));
    assertThat(bytes.toByteArray()).isEqualTo(expected(new Block(1, 0, 1)));
    assertThat(listener.failures).isEqualTo(Map.of(1L, TcpReason.TOO_LARGE));
  }

  /** The owner registers what it is asked for, and says so in a reply. */
  @Test
  void anOutputThatItsOwnerHasRegisteredIsReadWithoutBeingStaged() throws Exception {
    commit(1, 3_000, 4_000);
    try (RegisteredArena arena = TestTransports.arena(owner.transport);
        TestMapOutput output = TestMapOutput.publish(
            owner.transport.protectionDomain(), arena, directory, 1, 3_000, 4_000)) {
      Files.copy(
          directory.resolve("shuffle_3_1_0.data"), data(1), StandardCopyOption.REPLACE_EXISTING);
      DescriptorRef at = output.ref();
      registered = new RegisteredOutput(at.address(), at.rkey(), at.generation(), at.partitions());
      DescriptorRef unregistered = DescriptorRef.unregistered(at.shuffleId(), 1, Integer.MAX_VALUE);
      List<BlockRequest> blocks = List.of(
          new BlockRequest(0, unregistered, 0, 1, null),
          new BlockRequest(1, unregistered, 1, 2, null));
      List<Origin> origins = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        CollectingListener listener = new CollectingListener(2) {
          @Override
          public void onSuccess(long tag, RegisteredSlice block, Origin origin) {
            origins.add(origin);
            super.onSuccess(tag, block, origin);
          }
        };
        reader.fetcher.fetch(peer(), null, blocks, listener);
        listener.await();
        assertThat(listener.failures).isEmpty();
        assertThat(listener.blocks.get(0L)).isEqualTo(output.expected(0, 1));
        assertThat(listener.blocks.get(1L)).isEqualTo(output.expected(1, 2));
      }
      assertThat(origins)
          .containsExactly(Origin.STAGED, Origin.STAGED, Origin.REGISTERED, Origin.REGISTERED);
    }
    registered = null;
  }

  /** The owner's work on a request is a part of what the reader waits for its reply. */
  @Test
  void eachRequestIsTimedAtBothEnds() throws Exception {
    List<Block> blocks = oneBlockOfEach(40, 9_000);
    assertRead(reader.read(of(blocks)), blocks);
    LatencyHistogram replies = reader.staging.clients().replyTimes();
    LatencyHistogram files = owner.staging.stats().fileTimes;
    assertThat(replies.count())
        .isEqualTo(owner.staging.stats().requests.sum())
        .isEqualTo(files.count())
        .isPositive();
    assertThat(replies.totalNs()).isGreaterThanOrEqualTo(files.totalNs());
  }

  @Test
  void blocksOfAllSizesComeWhole() throws Exception {
    commit(1, 100, 20_000, 0, 3_000);
    commit(2, 64, 3_000_000);
    commit(3, LOAN_BYTES, LOAN_BYTES + 1, 2 * LOAN_BYTES, LOAN_BYTES - 1);
    List<Block> blocks = new ArrayList<>(List.of(
        new Block(1, 0, 1),
        new Block(1, 1, 2),
        new Block(1, 1, 4),
        new Block(2, 1, 2),
        new Block(2, 0, 2),
        new Block(3, 0, 1),
        new Block(3, 1, 2),
        new Block(3, 2, 3),
        new Block(3, 3, 4)));
    for (int mapId = 10; mapId < 600; mapId++) { // more than stay open
      commit(mapId, 100, 7_000);
      blocks.add(new Block(mapId, 1, 2));
    }
    assertRead(reader.read(of(blocks)), blocks);
    assertThat(owner.staging.stats().bytesStaged.sum())
        .isGreaterThanOrEqualTo(
            blocks.stream().mapToLong(block -> expected(block).length).sum());
    assertThat(owner.staging.registeredBytes()).isBetween(1L, 2L * SLAB_BYTES);
  }

  @Test
  void manySmallBlocksShareRequests() throws Exception {
    long[] lengths = new long[512];
    Arrays.fill(lengths, 100);
    commit(1, lengths);
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < lengths.length; i++) {
      blocks.add(new Block(1, i, i + 1));
    }
    assertRead(reader.read(of(blocks)), blocks);
    assertThat(owner.staging.stats().requests.sum()).isEqualTo(2); // 256 blocks in each
  }

  @Test
  void whatItsOwnerCannotReadIsLeft() throws Exception {
    List<Block> blocks = oneBlockOfEach(8, 5_000);
    Files.delete(data(1));
    Files.delete(index(2));
    Files.write(data(3), new byte[5_199]); // one byte is missing
    Files.write(index(4), new byte[12]);
    Files.write(
        index(5), ByteBuffer.allocate(32).putLong(0).putLong(90).putLong(80).array());
    Outcome outcome = reader.read(of(blocks));
    assertThat(outcome.left.keySet()).containsExactly(1, 2, 3, 4, 5);
    assertThat(outcome.left.values()).containsOnly(TcpReason.STAGING);
    assertThat(outcome.blocks.keySet()).containsExactly(0, 6, 7);
    assertThat(owner.staging.stats().rangesRefused.sum()).isEqualTo(5);
  }

  @Test
  void anEmptyBlockIsLeftAndAPartitionThatIsNotThereToo() throws Exception {
    commit(1, 0, 100);
    Outcome outcome =
        reader.read(of(List.of(new Block(1, 0, 1), new Block(1, 1, 2), new Block(1, 2, 3))));
    assertThat(outcome.left).isEqualTo(Map.of(0, TcpReason.ZERO_LENGTH, 2, TcpReason.STAGING));
    assertThat(outcome.blocks.get(1)).isEqualTo(expected(new Block(1, 1, 2)));
  }

  @Test
  void manyTasksShareTheRequestsOfTheirProcess() throws Exception {
    List<Block> blocks = oneBlockOfEach(40, 50_000);
    commit(100, 10, 1_000_000);
    blocks.add(new Block(100, 1, 2));
    ExecutorService tasks = Executors.newFixedThreadPool(12);
    try {
      List<Future<Outcome>> outcomes = new ArrayList<>();
      for (int i = 0; i < 24; i++) {
        Callable<Outcome> task = () -> reader.read(of(blocks));
        outcomes.add(tasks.submit(task));
      }
      for (Future<Outcome> outcome : outcomes) {
        assertRead(outcome.get(), blocks);
      }
    } finally {
      tasks.shutdownNow();
      assertThat(tasks.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }
    assertThat(owner.staging.stats().readersRefused.sum()).isZero();
    assertThat(owner.staging.stats().readersAccepted.sum()).isEqualTo(1);
  }

  @Test
  void aReaderThatAsksForNothingTakesUpNoMemory() throws Exception {
    owner.close();
    owner = new Node("owner", SLAB_BYTES);
    List<Block> blocks = oneBlockOfEach(20, 50_000);
    assertRead(reader.read(of(blocks)), blocks);
    try (Node other = new Node("other", 0)) {
      assertRead(other.read(of(blocks)), blocks);
    }
    assertRead(reader.read(of(blocks)), blocks);
    assertThat(owner.staging.registeredBytes()).isLessThanOrEqualTo(SLAB_BYTES);
  }

  /** Each holds what it was lent until its task has read it; all of them are served, and none by TCP. */
  @Test
  void manyReadersShareLittleMemory() throws Exception {
    owner.close();
    owner = new Node("owner", SLAB_BYTES); // four loans, for twelve readers
    List<Block> blocks = oneBlockOfEach(6, 50_000);
    List<Node> readers = new ArrayList<>();
    ExecutorService tasks = Executors.newCachedThreadPool();
    try {
      for (int i = 0; i < 12; i++) {
        readers.add(new Node("reader-" + i, 0, 1 << 20, IDLE_MS));
      }
      List<Future<Outcome>> outcomes = new ArrayList<>();
      for (Node each : readers) {
        outcomes.add(tasks.submit(() -> each.read(of(blocks))));
      }
      for (Future<Outcome> outcome : outcomes) {
        assertRead(outcome.get(60, TimeUnit.SECONDS), blocks);
      }
      assertThat(owner.staging.registeredBytes()).isEqualTo(SLAB_BYTES);
    } finally {
      tasks.shutdownNow();
      assertThat(tasks.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
      readers.forEach(Node::close);
    }
  }

  /** A block of which a part was staged stands before one that its owner cannot read. */
  @Test
  void aBlockThatCannotBeReadTakesNoOtherWithIt() throws Exception {
    List<Block> blocks = new ArrayList<>();
    for (long mapId = 0; mapId < 6; mapId += 2) {
      commit(mapId, LOAN_BYTES + 100);
      commit(mapId + 1, 100);
      Files.delete(data(mapId + 1));
      blocks.add(new Block(mapId, 0, 1));
      blocks.add(new Block(mapId + 1, 0, 1));
    }
    Outcome outcome = reader.read(of(blocks));
    assertThat(outcome.left.keySet()).containsExactly(1, 3, 5);
    assertThat(outcome.blocks.keySet()).containsExactly(0, 2, 4);
    assertThat(owner.staging.stats().readersAccepted.sum()).isEqualTo(1);
  }

  /** The owner takes its memory back meanwhile, and a part of the large block has not been asked for. */
  @Test
  void aTaskThatIsBusyForLongGetsItsBlocksNevertheless() throws Exception {
    owner.close();
    owner = new Node("owner", 16 * SLAB_BYTES, POOL_BYTES, SOON_IDLE_MS);
    commit(1, 100, 10 * LOAN_BYTES);
    List<Block> blocks = List.of(new Block(1, 0, 1), new Block(1, 1, 2));
    PeerBlocks small = of(blocks.subList(0, 1));
    PeerBlocks large = of(blocks.subList(1, 2));
    try (DirectFetch fetch = reader.fetcher.direct(List.of(large, small), WIDE, () -> {})) {
      assertThat(fetch.next()).isTrue(); // the small block, unless this thread had to wait for long
      long first = fetch.bytes().lengthBytes();
      TimeUnit.MILLISECONDS.sleep(3 * SOON_IDLE_MS);
      assertThat(owner.staging.registeredBytes()).isZero();
      assertThat(fetch.next()).isTrue();
      assertThat(first + fetch.bytes().lengthBytes()).isEqualTo(100 + 10 * LOAN_BYTES);
      assertThat(fetch.next()).isFalse();
      assertThat(fetch.left()).isEmpty();
    }
  }

  /** Large blocks hold buffers and want loans; small ones hold loans and want buffers. */
  @Test
  void fewBuffersAndFewLoansKeepNoTaskWaitingForItself() throws Exception {
    List<Block> blocks = oneBlockOfEach(30, 50_000);
    for (int mapId = 100; mapId < 106; mapId++) {
      commit(mapId, 400_000);
      blocks.add((mapId - 100) * 3, new Block(mapId, 0, 1));
    }
    ExecutorService tasks = Executors.newFixedThreadPool(4);
    try (Node tight = new Node("tight", 0, 1 << 20, IDLE_MS)) {
      List<Future<Outcome>> outcomes = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        outcomes.add(tasks.submit(() -> tight.read(of(blocks))));
      }
      for (Future<Outcome> outcome : outcomes) {
        Outcome seen = outcome.get(60, TimeUnit.SECONDS);
        assertThat(seen.left.values()).isSubsetOf(TcpReason.POOL);
        assertThat(seen.blocks.size() + seen.left.size()).isEqualTo(blocks.size());
        seen.blocks.forEach(
            (block, bytes) -> assertThat(bytes).isEqualTo(expected(blocks.get(block))));
      }
    } finally {
      tasks.shutdownNow();
    }
  }

  @Test
  void anOwnerThatStagesNothingIsNotWaitedFor() throws Exception {
    List<Block> blocks = oneBlockOfEach(3, 100);
    owner.close();
    owner = new Node("owner", 0);
    Outcome outcome = reader.read(of(blocks));
    assertThat(outcome.blocks).isEmpty();
    assertThat(outcome.left.values()).containsOnly(TcpReason.STAGING).hasSize(3);
  }

  @Test
  void aTaskThatEndsEarlyReturnsItsLoans() throws Exception {
    List<Block> blocks = oneBlockOfEach(60, 60_000);
    for (int i = 0; i < 20; i++) {
      try (DirectFetch fetch = reader.fetcher.direct(List.of(of(blocks)), WIDE, () -> {})) {
        assertThat(fetch.next()).isTrue();
      }
    }
    assertRead(reader.read(of(blocks)), blocks);
  }

  /** The task takes a block of each fetch in turn, as a join of many inputs does. */
  @Test
  void aTaskDoesNotWaitForLoansThatItsOtherFetchesHold() throws Exception {
    int fetches = 3 * LOANS;
    int blocks = 4;
    long[] lengths = new long[fetches * blocks];
    Arrays.fill(lengths, LOAN_BYTES - 1000);
    commit(1, lengths);
    TaskFetches ofTask = new TaskFetches();
    List<DirectFetch> open = new ArrayList<>();
    for (int i = 0; i < fetches; i++) {
      List<Block> ofFetch = new ArrayList<>();
      for (int j = 0; j < blocks; j++) {
        ofFetch.add(new Block(1, i * blocks + j, i * blocks + j + 1));
      }
      open.add(reader.fetcher.direct(ofTask, List.of(of(ofFetch)), WIDE, () -> {}));
    }
    int read = 0;
    for (int i = 0; i < blocks; i++) {
      for (DirectFetch fetch : open) {
        read += fetch.next() ? 1 : 0;
      }
    }
    for (DirectFetch fetch : open) {
      assertThat(fetch.left()).isEmpty();
      fetch.close();
    }
    assertThat(read).isEqualTo(fetches * blocks);
  }
}
