/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.descriptor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.location.ChecksumAlgorithm;
import org.shufflerdma.location.MapOutputDescriptor;

class DescriptorCacheTest {
  private static final int PARTITIONS = 1_000;
  private static final int BLOCK_BYTES = 10;
  private static final int ENTRY_BYTES = 16;
  private static final ByteBuffer ENTRIES = entries();

  /** Those of all descriptors here, which differ in their map ids alone. */
  private static ByteBuffer entries() {
    ByteBuffer descriptor =
        ByteBuffer.allocate(Math.toIntExact(MapOutputDescriptor.sizeBytes(PARTITIONS)));
    long[] lengths = new long[PARTITIONS];
    Arrays.fill(lengths, BLOCK_BYTES);
    MapOutputDescriptor.encode(descriptor, 1, TestTransports.seal(), header(1), lengths, null);
    int start = Math.toIntExact(MapOutputDescriptor.entryAt(0));
    return descriptor.slice(start, descriptor.capacity() - start);
  }

  private static MapOutputDescriptor.Header header(long map) {
    return new MapOutputDescriptor.Header(
        ChecksumAlgorithm.NONE, 1, map, 1, PARTITIONS, 1, (long) PARTITIONS * BLOCK_BYTES, 1);
  }

  /** Of each one 1000 partitions have been read, one after the other. */
  @Test
  void whatHasBeenReadIsCounted() throws Exception {
    DescriptorCache cache = new DescriptorCache();
    Nonce owner = Nonce.random();
    long most = DescriptorCache.MAX_PARTITIONS / 1000;
    for (int map = 0; map <= most; map++) {
      KnownDescriptor known = descriptorOf(map);
      for (int start = 0; start < 1000; start += 100) {
        known = with(known, start, start + 100);
      }
      assertThat(known.partitions()).isEqualTo(1000);
      cache.put(owner, refOf(map), known);
    }
    assertThat(cache.find(owner, refOf(0))).isNull();
    assertThat(cache.find(owner, refOf(most))).isNotNull();
  }

  /** {@code -Dfetch.seed} repeats a run. */
  @Test
  void rangesThatAreReadInAnyOrderCoverTheirPartitions() throws Exception {
    long seed = Long.getLong("fetch.seed", new Random().nextLong());
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      BitSet read = new BitSet();
      KnownDescriptor known = descriptorOf(1);
      for (int i = 0; i < 12; i++) {
        int start = random.nextInt(200);
        int end = start + 1 + random.nextInt(40);
        KnownDescriptor more = with(descriptorOf(1), start, end);
        known = random.nextBoolean() ? with(known, start, end) : more.withRangesOf(known);
        read.set(start, end);
      }
      for (int start = 0; start < 240; start++) {
        int end = start + 1 + random.nextInt(30);
        assertThat(known.covers(start, end))
            .as("seed %d, partitions %d to %d of %s", seed, start, end, read)
            .isEqualTo(read.nextClearBit(start) >= end);
        if (known.covers(start, end)) {
          assertThat(known.lengthBytes(start, end)).isEqualTo((end - start) * 10L);
          assertThat(known.remoteAddress(start)).isEqualTo(1 + start * 10L);
        }
      }
    }
  }

  private static KnownDescriptor with(KnownDescriptor known, int start, int end) throws Exception {
    return known.withEntries(
        ENTRIES.slice(start * ENTRY_BYTES, (end + 1 - start) * ENTRY_BYTES), start, end);
  }

  private static DescriptorRef refOf(long map) {
    return new DescriptorRef(map + 1, 1, 1, 1, map, PARTITIONS);
  }

  private static KnownDescriptor descriptorOf(long map) {
    return KnownDescriptor.of(
        header(map),
        ByteBuffer.allocate(MapOutputDescriptor.HEADER_BYTES),
        Deadline.afterMs(60_000));
  }
}
