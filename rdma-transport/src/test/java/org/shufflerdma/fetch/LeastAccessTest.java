/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.NativeMemory;
import org.shufflerdma.verbs.OnSoftDevice;
import org.shufflerdma.verbs.ShownRegions;
import org.shufflerdma.verbs.ShownRegions.Region;
import org.shufflerdma.verbs.WideRegion;

/** What is registered while blocks are read, by the device's own account. */
@Timeout(60)
@OnSoftDevice("shows its regions")
class LeastAccessTest {
  private static final int BLOCK_BYTES = 100_000;

  @TempDir
  Path directory;

  @Test
  void whileBlocksAreReadPeersCanReadFilesAndRecordsAndWriteNothing() throws Exception {
    List<Region> seen = regionsDuringAFetch(false);
    assertThat(seen.stream().filter(Region::ofFile))
        .isNotEmpty()
        .allMatch(region -> region.access() == Access.REMOTE_READ);
    assertThat(seen.stream().filter(region -> !region.ofFile()))
        .isNotEmpty()
        .allMatch(LeastAccessTest::isRecordsOrSink);
    long readable = seen.stream()
        .filter(region -> !region.ofFile() && region.access() == Access.REMOTE_READ)
        .mapToLong(Region::lengthBytes)
        .sum();
    assertThat(readable).as("two canaries and a chunk for descriptors").isLessThan(2 << 20);
  }

  @Test
  void theDeviceShowsARegionThatAllowsMore() throws Exception {
    assertThat(regionsDuringAFetch(true))
        .anyMatch(region -> (region.access() & Access.REMOTE_WRITE) != 0);
  }

  private static boolean isRecordsOrSink(Region region) {
    return region.access() == Access.REMOTE_READ
        || (region.access() & ~Access.RELAXED_ORDERING) == Access.LOCAL_WRITE;
  }

  private List<Region> regionsDuringAFetch(boolean withOneThatAllowsMore) throws Exception {
    List<Region> seen = new ArrayList<>();
    try (RdmaTransport owner = TestTransports.open("owner");
        RdmaTransport reader = TestTransports.open("reader");
        RegisteredArena arena = TestTransports.arena(owner);
        TestMapOutput output =
            TestMapOutput.publish(owner.protectionDomain(), arena, directory, 1, 10, BLOCK_BYTES);
        NativeMemory memory = NativeMemory.allocate(4096, false);
        BlockFetcher fetcher = new BlockFetcher(reader, new FetchSettings(2, 1_000, 60_000))) {
      @Nullable
      MemoryRegion wide =
          withOneThatAllowsMore ? WideRegion.register(owner.protectionDomain(), memory) : null;
      CollectingListener listener = new CollectingListener(1);
      BlockSink sink = piece -> seen.addAll(ShownRegions.read());
      BlockRequest block = new BlockRequest(1, output.ref(), 1, 2, sink);
      fetcher.fetch(TestTransports.peerOf("owner", owner), null, List.of(block), listener);
      assertThat(listener.await().streamed).containsEntry(1L, (long) BLOCK_BYTES);
      if (wide != null) {
        wide.close();
      }
    }
    return seen;
  }
}
