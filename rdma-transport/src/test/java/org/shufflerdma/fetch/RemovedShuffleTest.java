/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.mapoutput.MapOutputFile;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.PartitionChecksums;
import org.shufflerdma.mapoutput.PublishedOutput;
import org.shufflerdma.memory.RegisteredArena;

/** A task elsewhere that has not heard yet that the shuffle it reads has been removed. */
@Timeout(120)
class RemovedShuffleTest {
  /** Readers rely on a descriptor for half of it. */
  private static final int GRACE_MS = 20_000;

  private static final int MAPS = 4;

  @TempDir
  Path directory;

  @Test
  void withinItsLeaseATaskReadsAShuffleThatNoTaskOfItsOwnerUses() throws Exception {
    try (RdmaTransport owner = TestTransports.open("owner");
        RdmaTransport reader = TestTransports.open("reader");
        RegisteredArena arena = TestTransports.arena(owner);
        MapOutputRegistry registry = new MapOutputRegistry(
            owner.protectionDomain(), arena, TestTransports.seal(), GRACE_MS, System::nanoTime);
        BlockFetcher fetcher = new BlockFetcher(reader, FetchSettings.of(4, GRACE_MS))) {
      PeerId peer = TestTransports.peerOf("owner", owner);
      PeerBlocks blocks = new PeerBlocks(peer, null);
      for (int map = 0; map < MAPS; map++) {
        blocks.add(publish(registry, map), 0, 1);
      }
      long registered = registry.registeredBytes();
      DirectFetch.Limits oneAtATime = new DirectFetch.Limits(10_000, 1, 1);
      try (DirectFetch fetch = fetcher.direct(List.of(blocks), oneAtATime, () -> {})) {
        assertThat(fetch.next()).isTrue();
        registry.removeShuffle(1);
        // Long enough for it to be given back too soon, and within the lease.
        Await.atMost(GRACE_MS / 8, () -> registry.registeredBytes() != registered);
        for (int map = 1; map < MAPS; map++) {
          assertThat(fetch.next()).as("block %d", map).isTrue();
        }
        assertThat(fetch.next()).isFalse();
        assertThat(fetch.left()).isEmpty();
      }
      assertThat(reader.stats().connectionsFailed.sum()).isZero();
    }
  }

  private DescriptorRef publish(MapOutputRegistry registry, int map) throws Exception {
    byte[] data = new byte[20_000];
    new Random(map).nextBytes(data);
    Path file = Files.write(directory.resolve("map" + map), data);
    long[] lengths = {10_000, 10_000};
    PublishedOutput output = registry.publish(
        new MapOutputFile(1, map, file, lengths, PartitionChecksums.compute(file, lengths)));
    return new DescriptorRef(
        output.descriptorAddress(), output.descriptorRkey(), output.generation(), 1, map, 2);
  }
}
