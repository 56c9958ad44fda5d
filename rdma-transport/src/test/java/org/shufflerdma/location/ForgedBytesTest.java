/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.location;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Decoders of what others wrote end with a value in its range, or with the refusal they declare. */
class ForgedBytesTest {
  private static final int ROUNDS = 200_000;
  private static final long AT = 4096;
  private static final DescriptorSeal SEAL = new DescriptorSeal(new byte[] {1});
  private static final long[] LENGTHS = {10, 0, 50, 7};
  private static final MapOutputDescriptor.Header HEADER =
      new MapOutputDescriptor.Header(ChecksumAlgorithm.CRC32C, 7, 8, 9, 4, AT, 67, 3);

  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);

  /** Some bits, bytes or words of it changed. */
  private void forge(byte[] bytes) {
    for (int lies = 1 + random.nextInt(4); lies > 0; lies--) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(3)) {
        case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> bytes[at] = (byte) random.nextInt();
        default ->
          ByteBuffer.wrap(bytes).putLong(at & -8, random.nextBoolean() ? -1 : random.nextLong());
      }
    }
  }

  @Test
  void forgedHeadersAreRefused() {
    byte[] real = new byte[(int) MapOutputDescriptor.sizeBytes(LENGTHS.length)];
    MapOutputDescriptor.encode(ByteBuffer.wrap(real), AT, SEAL, HEADER, LENGTHS, new int[4]);
    for (int round = 0; round < ROUNDS; round++) {
      byte[] forged = ByteBuffer.allocate(64).put(real, 0, 64).array();
      forge(forged);
      try {
        assertThat(MapOutputDescriptor.decodeHeader(ByteBuffer.wrap(forged), AT, SEAL))
            .as("seed %d, round %d", seed, round)
            .isEqualTo(HEADER); // the change changed nothing
      } catch (InvalidDescriptorException e) {
        assertThat(e).hasMessageNotContaining("0x");
      }
    }
  }

  /** Of a header that holds, as its writer would have to make it: ranges stay within the data. */
  @Test
  void forgedEntriesAreRefusedOrWithinTheData() {
    byte[] real = new byte[(int) MapOutputDescriptor.sizeBytes(LENGTHS.length)];
    MapOutputDescriptor.encode(ByteBuffer.wrap(real), AT, SEAL, HEADER, LENGTHS, new int[4]);
    for (int round = 0; round < ROUNDS; round++) {
      byte[] forged = real.clone();
      forge(forged);
      int start = random.nextInt(6) - 1;
      int end = random.nextInt(7) - 1;
      try {
        ByteBuffer entries =
            ByteBuffer.wrap(forged).position(64 + 16 * Math.max(0, Math.min(start, 4)));
        PartitionRanges ranges = MapOutputDescriptor.decodeEntries(entries, HEADER, start, end);
        for (int i = start; i < end; i++) {
          assertThat(ranges.offset(i)).as("seed %d, round %d", seed, round).isBetween(0L, 67L);
          assertThat(ranges.lengthBytes(i)).isBetween(0L, 67 - ranges.offset(i));
        }
      } catch (InvalidDescriptorException e) {
        assertThat(e).hasMessageNotContaining("0x");
      }
    }
  }

  @Test
  void forgedTrailersReadAsNone() {
    MapOutputTrailer trailer = new MapOutputTrailer(5, 6, 7, 8);
    int survivors = 0;
    for (int round = 0; round < ROUNDS; round++) {
      byte[] forged = trailer.encode();
      forge(forged);
      Optional<MapOutputTrailer> read = MapOutputTrailer.decode(forged);
      survivors += read.isPresent() && !read.get().equals(trailer) ? 1 : 0;
    }
    assertThat(survivors).as("of a check of 16 bits, seed %d", seed).isLessThan(ROUNDS / 1000);
    assertThat(MapOutputTrailer.decode(new byte[0])).isEmpty();
    assertThat(MapOutputTrailer.decode(new byte[25])).isEmpty();
  }
}
