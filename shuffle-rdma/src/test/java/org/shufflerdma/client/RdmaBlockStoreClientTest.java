/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.MapOutputTrackerWorker;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.location.MapOutputTrailer;
import org.shufflerdma.mapoutput.MapOutputFile;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.PartitionChecksums;
import org.shufflerdma.mapoutput.PublishedOutput;
import org.shufflerdma.mapstatus.MapStatusCarrier;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.reader.LocationTable;
import org.shufflerdma.reader.RdmaSource;
import org.shufflerdma.reader.TrackedLocations;
import org.shufflerdma.verbs.TestDevice;
import scala.Option;

/** Executor "2" reads the outputs of executor "1", which are really published. */
class RdmaBlockStoreClientTest {
  private static final int SHUFFLE = 4;
  private static final long[] LENGTHS = {1000, 0, 3000, 70_000};
  private static final BlockManagerId OWNER =
      BlockManagerId.apply("1", "127.0.0.1", 7, Option.empty());

  @TempDir
  Path directory;

  private RdmaTransport owner;
  private RdmaTransport reader;
  private RegisteredArena arena;
  private MapOutputRegistry registry;
  private BlockFetcher fetcher;
  private FallbackThreads fallback;
  private final List<CollectedBlocks> collected = new ArrayList<>();
  private final FakeSparkClient spark = new FakeSparkClient();
  private final ReadCounters counters = new ReadCounters();
  private final MapOutputTrackerWorker tracker = new MapOutputTrackerWorker(new SparkConf(false));

  @BeforeEach
  void open() throws Exception {
    owner = TestTransports.open("1");
    reader = TestTransports.open("2");
    arena = TestTransports.arena(owner);
    registry = new MapOutputRegistry(
        owner.protectionDomain(), arena, TestTransports.seal(), 0, System::nanoTime);
    fetcher = new BlockFetcher(reader, FetchSettings.of(2, 2_000));
    fallback = new FallbackThreads();
  }

  @AfterEach
  void close() throws Exception {
    fallback.close();
    collected.forEach(CollectedBlocks::releaseAll);
    TestTransports.awaitNoLeases(reader);
    fetcher.close();
    registry.close();
    arena.close();
    reader.close();
    owner.close();
  }

  /** The status of a map output that is published for RDMA. */
  private MapStatus published(long mapId) throws Exception {
    return published(mapId, SHUFFLE);
  }

  private MapStatus published(long mapId, int registeredAs) throws Exception {
    Path file = Files.write(directory.resolve("data" + mapId), data(mapId));
    return statusOf(
        registry.publish(new MapOutputFile(
            registeredAs, mapId, file, LENGTHS, PartitionChecksums.compute(file, LENGTHS))),
        mapId,
        LENGTHS);
  }

  private MapStatus statusOf(PublishedOutput output, long mapId, long[] lengths) throws Exception {
    MapStatus status = MapStatus.apply(OWNER, lengths, mapId, 0);
    MapStatusCarrier.write(
        status,
        LENGTHS.length,
        new MapOutputTrailer(
            MapOutputTrailer.hashExecutorId("1"),
            output.generation(),
            output.descriptorRkey(),
            output.descriptorAddress()));
    status.updateLocation(new PublishedEndpoint(
            owner.endpoint().host(),
            owner.endpoint().port(),
            owner.endpoint().bootNonce().toHex())
        .addTo(OWNER));
    return status;
  }

  private static byte[] data(long mapId) {
    byte[] bytes = new byte[(int) Arrays.stream(LENGTHS).sum()];
    new Random(mapId).nextBytes(bytes);
    return bytes;
  }

  private RdmaBlockStoreClient client(MapStatus... statuses) {
    tracker.mapStatuses().put(SHUFFLE, statuses);
    return new RdmaBlockStoreClient(
        spark,
        fetcher,
        TrackedLocations.of(new LocationTable(tracker), SHUFFLE, LENGTHS.length),
        true,
        counters,
        fallback,
        new FallbackLog());
  }

  private CollectedBlocks collect(int expected) {
    CollectedBlocks blocks = new CollectedBlocks(expected);
    collected.add(blocks);
    return blocks;
  }

  private Map<TcpReason, Long> fallbacks() {
    return Stream.of(TcpReason.values())
        .filter(reason -> counters.get(reason) != 0)
        .collect(Collectors.toMap(Function.identity(), counters::get));
  }

  private CollectedBlocks fetch(RdmaBlockStoreClient client, String... blockIds) throws Exception {
    CollectedBlocks blocks = collect(blockIds.length);
    client.fetchBlocks("127.0.0.1", 7, "1", blockIds, blocks, null);
    return blocks.await();
  }

  @Test
  void publishedBlocksAndRangesComeByRdma() throws Exception {
    CollectedBlocks blocks = fetch(
        client(published(10), published(11)),
        "shuffle_4_10_0",
        "shuffle_4_10_2_4",
        "shuffle_4_11_3");
    assertThat(blocks.bytesOf("shuffle_4_10_0")).isEqualTo(Arrays.copyOf(data(10), 1000));
    assertThat(blocks.bytesOf("shuffle_4_10_2_4"))
        .isEqualTo(Arrays.copyOfRange(data(10), 1000, 74_000));
    assertThat(blocks.bytesOf("shuffle_4_11_3"))
        .isEqualTo(Arrays.copyOfRange(data(11), 4000, 74_000));
    assertThat(spark.requested()).isEmpty();
    assertThat(counters.get(Counter.RDMA_BLOCKS)).isEqualTo(3);
    assertThat(counters.get(Counter.RDMA_BYTES)).isEqualTo(1000 + 73_000 + 70_000);
    assertThat(fallbacks()).isEmpty();
  }

  @Test
  void blocksWithoutLocationAreLeftToSparkWithTheirReason() throws Exception {
    MapStatus unpublished = MapStatus.apply(OWNER, LENGTHS, 12, 0);
    MapStatus migrated = published(13);
    migrated.updateLocation(BlockManagerId.apply("3", "127.0.0.1", 9, Option.empty()));
    CollectedBlocks blocks = fetch(
        client(published(10), unpublished, migrated),
        "shuffle_4_10_0",
        "shuffle_4_12_0",
        "shuffle_4_13_0",
        "shuffle_5_10_0",
        "shuffleChunk_4_0_1_2");
    assertThat(blocks.failed()).isEmpty();
    assertThat(spark.requested())
        .containsExactly(
            "shuffle_4_12_0", "shuffle_4_13_0", "shuffle_5_10_0", "shuffleChunk_4_0_1_2");
    assertThat(fallbacks())
        .isEqualTo(
            Map.of(TcpReason.NO_LOCATION, 1L, TcpReason.MIGRATED, 1L, TcpReason.OTHER_BLOCK, 2L));
    assertThat(counters.get(Counter.MISSED_BLOCKS)).isEqualTo(1);
    assertThat(counters.get(Counter.RDMA_BLOCKS)).isEqualTo(1);
  }

  @Test
  void withdrawnOutputFallsBackAndLaterBlocksOfThePeerUseRdmaAgain() throws Exception {
    int otherShuffle = 99;
    MapStatus gone = published(10, otherShuffle);
    MapStatus there = published(11);
    registry.removeShuffle(otherShuffle);
    RdmaBlockStoreClient client = client(gone, there);

    CollectedBlocks blocks = fetch(client, "shuffle_4_10_0", "shuffle_4_11_0");

    assertThat(blocks.failed()).isEmpty();
    assertThat(blocks.bytesOf("shuffle_4_11_0")).isEqualTo(Arrays.copyOf(data(11), 1000));
    assertThat(spark.requested()).containsExactly("shuffle_4_10_0");
    assertThat(fallbacks()).isEqualTo(Map.of(TcpReason.DESCRIPTOR, 1L));
    fetch(client, "shuffle_4_11_2");
    assertThat(counters.get(Counter.RDMA_BLOCKS)).isEqualTo(2);
    assertThat(spark.requested()).hasSize(1);
  }

  @Test
  void blockThatSparkAsksForAgainComesFromSpark() throws Exception {
    RdmaBlockStoreClient client = client(published(10));
    fetch(client, "shuffle_4_10_0");
    fetch(client, "shuffle_4_10_0");
    assertThat(spark.requested()).containsExactly("shuffle_4_10_0");
    assertThat(fallbacks()).isEqualTo(Map.of(TcpReason.REFETCH, 1L));
  }

  @Test
  void blockThatTurnsOutEmptyIsAskedOfSpark() throws Exception {
    fetch(client(published(10)), "shuffle_4_10_1");
    assertThat(spark.requested()).containsExactly("shuffle_4_10_1");
    assertThat(fallbacks()).isEqualTo(Map.of(TcpReason.ZERO_LENGTH, 1L));
  }

  @Test
  void largeRequestsGoToFilesThatBelongToTheTask() throws Exception {
    TemporaryFiles files = new TemporaryFiles(directory);
    CollectedBlocks blocks = collect(1);
    client(published(10))
        .fetchBlocks("127.0.0.1", 7, "1", new String[] {"shuffle_4_10_3"}, blocks, files);
    blocks.await();
    assertThat(blocks.bufferOf("shuffle_4_10_3")).isInstanceOf(FileSegmentManagedBuffer.class);
    assertThat(blocks.bytesOf("shuffle_4_10_3"))
        .isEqualTo(Arrays.copyOfRange(data(10), 4000, 74_000));
    assertThat(files.registered()).isEqualTo(1);
    assertThat(counters.get(Counter.RDMA_BYTES)).isEqualTo(70_000);
  }

  @Test
  void blocksBeyondTwoGigabytesOfAnOutputComeByRdma() throws Exception {
    TestDevice.assumeTakes(3L << 30);
    long[] lengths = {3L << 30, 0, 1000, 70_000};
    Path file = directory.resolve("large");
    byte[] last = new byte[70_000];
    new Random(5).nextBytes(last);
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.wrap(last), (3L << 30) + 1000);
    }
    try (MapOutputRegistry large = new MapOutputRegistry(
        owner.protectionDomain(), arena, TestTransports.seal(), 0, System::nanoTime)) {
      PublishedOutput output =
          large.publish(new MapOutputFile(SHUFFLE, 10, file, lengths, PartitionChecksums.none()));
      CollectedBlocks blocks =
          fetch(client(statusOf(output, 10, lengths)), "shuffle_4_10_2", "shuffle_4_10_3");
      assertThat(blocks.bytesOf("shuffle_4_10_2")).isEqualTo(new byte[1000]);
      assertThat(blocks.bytesOf("shuffle_4_10_3")).isEqualTo(last);
      assertThat(spark.requested()).isEmpty();
    }
  }

  @Test
  void aBlockThatSparksListenerDoesNotTakeIsFailedOnceAndKeepsNoBuffer() throws Exception {
    RdmaBlockStoreClient client = client(published(10));
    CollectedBlocks blocks = collect(2);
    blocks.failWhenTaking();
    client.fetchBlocks("127.0.0.1", 7, "1", new String[] {"shuffle_4_10_0"}, blocks, null);
    client.fetchBlocks(
        "127.0.0.1",
        7,
        "1",
        new String[] {"shuffle_4_10_3"},
        blocks,
        new TemporaryFiles(directory));
    assertThat(blocks.await().failed()).containsOnlyKeys("shuffle_4_10_0", "shuffle_4_10_3");
    assertThat(spark.requested())
        .as("asked for twice, and perhaps counted twice")
        .isEmpty();
    TestTransports.awaitNoLeases(reader);
  }

  @Test
  void endedTaskHearsNothingAndKeepsNothing() throws Exception {
    RdmaBlockStoreClient client = client(published(10));
    CollectedBlocks blocks = collect(1);
    blocks.refuse();
    client.fetchBlocks("127.0.0.1", 7, "1", new String[] {"shuffle_4_10_3"}, blocks, null);
    client.cancel();
    TestTransports.awaitNoLeases(reader);
    assertThat(counters.get(Counter.RDMA_BYTES)).isZero();
  }

  /** Spark takes an IOException for a corrupt block. */
  @Test
  void streamOfAReleasedBlockIsAnErrorAndNeitherForeignBytesNorACorruptBlock() throws Exception {
    CollectedBlocks blocks = fetch(client(published(10)), "shuffle_4_10_3");
    InputStream stream = blocks.bufferOf("shuffle_4_10_3").createInputStream();
    assertThat(stream.read()).isEqualTo(Byte.toUnsignedInt(data(10)[4000]));
    blocks.bufferOf("shuffle_4_10_3").release();
    blocks.forget("shuffle_4_10_3");
    TestTransports.awaitNoLeases(reader); // the client's own hold may end a moment later
    assertThat(catchThrowable(stream::read)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void blocksThatTheFetcherGivesUpWhenItIsClosedComeFromSpark() throws Exception {
    RdmaBlockStoreClient client = client(published(10));
    List<RegisteredBuffer> held = takeAllBuffers();
    CollectedBlocks blocks = collect(1);
    client.fetchBlocks("127.0.0.1", 7, "1", new String[] {"shuffle_4_10_0"}, blocks, null);
    new RdmaSource(fetcher, new LocationTable(tracker), fallback).close();
    assertThat(blocks.await().failed()).isEmpty();
    assertThat(spark.requested()).containsExactly("shuffle_4_10_0");
    held.forEach(RegisteredBuffer::release);
  }

  private List<RegisteredBuffer> takeAllBuffers() throws Exception {
    List<RegisteredBuffer> held = new ArrayList<>();
    for (int bytes : new int[] {1 << 20, 64 << 10, 64}) {
      try {
        while (true) {
          held.add(reader.buffers().acquire(bytes, Deadline.afterMs(0)));
        }
      } catch (IOException e) {
        assertThat(held).isNotEmpty();
      }
    }
    return held;
  }
}
