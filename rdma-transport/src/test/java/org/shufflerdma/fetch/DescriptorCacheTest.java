/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.location.ChecksumAlgorithm;
import org.shufflerdma.location.MapOutputDescriptor;

class DescriptorCacheTest {
  private static final int PARTITIONS = 100_000;
  private static final int WINDOWS = 391;

  /** Each has a place for each of its windows, though none of them has been read. */
  @Test
  void descriptorsOfManyPartitionsCountWithTheirPlaces() {
    DescriptorCache cache = new DescriptorCache();
    Nonce owner = Nonce.random();
    long most = DescriptorCache.MAX_PARTITIONS / WINDOWS;
    for (int map = 0; map <= most; map++) {
      cache.put(owner, refOf(map), descriptorOf(map));
    }
    assertThat(cache.find(owner, refOf(0))).isNull();
    assertThat(cache.find(owner, refOf(most))).isNotNull();
  }

  private static DescriptorRef refOf(long map) {
    return new DescriptorRef(map + 1, 1, 1, 1, map, PARTITIONS);
  }

  private static KnownDescriptor descriptorOf(long map) {
    return KnownDescriptor.of(
        new MapOutputDescriptor.Header(ChecksumAlgorithm.NONE, 1, map, 1, PARTITIONS, 1, 1, 1),
        ByteBuffer.allocate(MapOutputDescriptor.HEADER_BYTES),
        Deadline.afterMs(60_000));
  }
}
