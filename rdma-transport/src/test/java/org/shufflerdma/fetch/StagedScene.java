/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.FetchOutcome;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.staging.RegisteredOutput;
import org.shufflerdma.staging.Staging;
import org.shufflerdma.staging.StagingSettings;
import org.shufflerdma.verbs.TestDevice;

/** An owner that stages its map outputs, and a reader. Everything must have been given back when a test ends. */
@Timeout(120)
abstract class StagedScene {
  static final DirectFetch.Limits WIDE = new DirectFetch.Limits(48 << 20, 100, 10_000);
  static final int SHUFFLE_ID = 3;
  static final int LOAN_BYTES = 64 << 10;
  static final int LOANS = 4;
  static final int POOL_BYTES = 64 << 20;

  /** Longer than any test, on a slow host too. */
  static final int IDLE_MS = 60_000;

  /** Long enough for a task on a slow host. */
  private static final int LEASE_MS = 1_000;

  static final int SLAB_BYTES = LOAN_BYTES * LOANS;

  @TempDir
  Path directory;

  /** A process that reads, and may stage. */
  final class Node implements AutoCloseable {
    final RdmaTransport transport;
    final Staging staging;
    final BlockFetcher fetcher;

    Node(String name, long stagingBytes) throws IOException {
      this(name, stagingBytes, POOL_BYTES, IDLE_MS);
    }

    Node(String name, long stagingBytes, long poolBytes, int idleMs) throws IOException {
      this(name, stagingBytes, TestTransports.settings(0, poolBytes), idleMs);
    }

    Node(String name, long stagingBytes, TransportSettings settings, int idleMs)
        throws IOException {
      transport = TestTransports.open(name, settings);
      staging = Staging.open(
          transport,
          new CommittedOutputs() {
            @Override
            public CommittedOutputs.Files open(int shuffleId, long mapId) throws IOException {
              awaitDisk();
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
    FetchOutcome read(PeerBlocks... peers) throws InterruptedException {
      try (DirectFetch fetch = fetcher.direct(List.of(peers), WIDE, () -> {})) {
        FetchOutcome outcome = FetchOutcome.of(fetch);
        assertThat(outcome.origins()).isSubsetOf(Origin.STAGED);
        return outcome;
      }
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

  record Block(long mapId, int startPartition, int endPartition) {}

  private final Map<Long, long[]> outputs = new HashMap<>();

  /** The disk goes on when this is zero. */
  volatile CountDownLatch disk = new CountDownLatch(0);

  private void awaitDisk() throws IOException {
    try {
      if (!disk.await(60, TimeUnit.SECONDS)) {
        throw new IOException("the disk has not gone on");
      }
    } catch (InterruptedException e) {
      throw new InterruptedIOException();
    }
  }

  /** Where the owner says that its outputs are registered. */
  volatile @Nullable RegisteredOutput registered;

  private TestDevice.Live before;
  Node owner;
  Node reader;

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

  Path data(long mapId) {
    return directory.resolve(mapId + ".data");
  }

  Path index(long mapId) {
    return directory.resolve(mapId + ".index");
  }

  PeerId peer() {
    return TestTransports.peerOf("owner", owner.transport);
  }

  void commit(long mapId, long... lengths) throws IOException {
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

  byte[] expected(Block block) {
    long[] lengths = Objects.requireNonNull(outputs.get(block.mapId));
    int from = (int) Arrays.stream(lengths, 0, block.startPartition).sum();
    int to = (int) Arrays.stream(lengths, 0, block.endPartition).sum();
    return Arrays.copyOfRange(bytesOf(block.mapId, lengths), from, to);
  }

  PeerBlocks of(List<Block> blocks) {
    return of(blocks, null);
  }

  PeerBlocks of(List<Block> blocks, @Nullable InetSocketAddress tcpAddress) {
    PeerBlocks reads = new PeerBlocks(peer(), tcpAddress);
    blocks.forEach(block -> reads.add(
        DescriptorRef.unregistered(SHUFFLE_ID, block.mapId, Math.max(block.endPartition, 1)),
        block.startPartition,
        block.endPartition));
    return reads;
  }

  void assertRead(FetchOutcome outcome, List<Block> blocks) {
    assertThat(outcome.left()).isEmpty();
    assertThat(outcome.blocks()).hasSize(blocks.size());
    for (int i = 0; i < blocks.size(); i++) {
      assertThat(outcome.blocks().get(i)).as("block %d", i).isEqualTo(expected(blocks.get(i)));
    }
  }

  List<Block> oneBlockOfEach(int count, int lengthBytes) throws IOException {
    List<Block> blocks = new ArrayList<>();
    for (int mapId = 0; mapId < count; mapId++) {
      commit(mapId, 100, lengthBytes, 100);
      blocks.add(new Block(mapId, 1, 2));
    }
    return blocks;
  }
}
