/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.mapoutput.MapOutputFile;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.NotPublishedException;
import org.shufflerdma.mapoutput.PartitionChecksums;
import org.shufflerdma.mapoutput.PublishedOutput;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.staging.Staging;
import org.shufflerdma.staging.StagingSettings;
import org.shufflerdma.verbs.Jvm;
import org.shufflerdma.verbs.OnSoftDevice;
import org.shufflerdma.verbs.ProcessLimits;

/**
 * A process, one of its own, that publishes and reads as many map outputs as it may have files open; where the host
 * lets a process have few mappings, more than it may have.
 */
@Timeout(120)
@OnSoftDevice("it keeps a descriptor of each registered output")
class FewDescriptorsTest {
  private static final int SHUFFLE = 1;
  private static final int POOL_BYTES = 16 << 20;
  /** For all but map outputs. */
  private static final int RESERVED = 256;

  private static final long[] LENGTHS = {300, 500};

  @TempDir
  Path directory;

  @ParameterizedTest
  @ValueSource(ints = {256, 1024, 4096})
  void outputsBeyondAShareOfTheDescriptorsAreStagedAndFilesStillOpen(int most) throws Exception {
    long registered = Math.min(most - RESERVED, ProcessLimits.read().mappings()) / 4;
    try (Jvm jvm = Jvm.startUnder(
        List.of("prlimit", "--nofile=%1$d:%1$d".formatted(most)),
        Map.of(),
        FewDescriptorsTest.class,
        directory.toString(),
        Integer.toString(most))) {
      assertThat(jvm.awaitLine("published: "))
          .isEqualTo(
              "registered %d, refused DESCRIPTORS %d".formatted(registered, most - registered));
      assertThat(jvm.awaitLine("read: "))
          .isEqualTo("registered %d, staged %d, left 0".formatted(registered, most - registered));
      assertThat(Integer.parseInt(jvm.awaitLine("descriptors to spare: "))).isGreaterThan(most / 4);
      assertThat(jvm.end()).isEmpty();
    }
  }

  /** The arguments are a directory, and how many outputs to publish. */
  public static void main(String[] arguments) throws Exception {
    Path directory = Path.of(arguments[0]);
    int outputs = Integer.parseInt(arguments[1]);
    try (RdmaTransport owner = TestTransports.open("owner");
        RdmaTransport reader =
            TestTransports.open("reader", TestTransports.settings(0, POOL_BYTES));
        Staging served = staging(owner, directory, 1 << 20);
        Staging staging = staging(reader, directory, 0);
        RegisteredArena arena = TestTransports.arena(owner);
        MapOutputRegistry registry = new MapOutputRegistry(
            owner.protectionDomain(), arena, TestTransports.seal(), 0, System::nanoTime);
        BlockFetcher fetcher = new BlockFetcher(
            reader, staging.clients(), null, new FetchSettings(4, 1_000, 60_000))) {
      assertThat(served.stages()).isTrue();
      PeerBlocks blocks = new PeerBlocks(TestTransports.peerOf("owner", owner), null);
      int registered = 0;
      String reason = "";
      for (int map = 0; map < outputs; map++) {
        MapOutputFile output = commit(directory, map);
        DescriptorRef ref;
        try {
          PublishedOutput published = registry.publish(output);
          ref = new DescriptorRef(
              published.descriptorAddress(),
              published.descriptorRkey(),
              published.generation(),
              SHUFFLE,
              map,
              LENGTHS.length);
          registered++;
        } catch (NotPublishedException e) {
          reason = e.reason().name();
          ref = DescriptorRef.unregistered(SHUFFLE, map, LENGTHS.length);
        }
        blocks.add(ref, 1, 2);
      }
      System.out.printf(
          "published: registered %d, refused %s %d%n", registered, reason, outputs - registered);
      read(fetcher, blocks);
      long open;
      try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
        open = descriptors.count();
      }
      System.out.println("descriptors to spare: " + (outputs - open));
    }
  }

  private static Staging staging(RdmaTransport transport, Path directory, long bytes)
      throws IOException {
    return Staging.open(
        transport,
        (shuffle, map) -> CommittedOutputs.Files.open(data(directory, map), index(directory, map)),
        new StagingSettings(bytes, 64 << 10, 256 << 10, 4, 2, 5_000, 60_000, 200));
  }

  private static Path data(Path directory, long map) {
    return directory.resolve(map + ".data");
  }

  private static Path index(Path directory, long map) {
    return directory.resolve(map + ".index");
  }

  private static byte[] bytesOf(long map) {
    byte[] bytes = new byte[(int) (LENGTHS[0] + LENGTHS[1])];
    new Random(map).nextBytes(bytes);
    return bytes;
  }

  private static MapOutputFile commit(Path directory, int map) throws IOException {
    Path file = Files.write(data(directory, map), bytesOf(map));
    ByteBuffer offsets = ByteBuffer.allocate(3 * Long.BYTES);
    offsets.putLong(0).putLong(LENGTHS[0]).putLong(LENGTHS[0] + LENGTHS[1]);
    Files.write(index(directory, map), offsets.array());
    return new MapOutputFile(
        SHUFFLE, map, file, LENGTHS, PartitionChecksums.compute(file, LENGTHS));
  }

  private static void read(BlockFetcher fetcher, PeerBlocks blocks) throws InterruptedException {
    int registered = 0;
    int staged = 0;
    DirectFetch.Limits limits = new DirectFetch.Limits(48 << 20, 100, 10_000);
    try (DirectFetch fetch = fetcher.direct(List.of(blocks), limits, () -> {})) {
      while (fetch.next()) {
        byte[] copy = new byte[Math.toIntExact(fetch.bytes().lengthBytes())];
        fetch.bytes().nioBuffer().get(copy);
        byte[] all = bytesOf(fetch.block());
        assertThat(copy).isEqualTo(Arrays.copyOfRange(all, (int) LENGTHS[0], all.length));
        if (fetch.origin() == Origin.STAGED) {
          staged++;
        } else {
          registered++;
        }
      }
      System.out.printf(
          "read: registered %d, staged %d, left %d%n",
          registered, staged, fetch.left().size());
    }
  }
}
