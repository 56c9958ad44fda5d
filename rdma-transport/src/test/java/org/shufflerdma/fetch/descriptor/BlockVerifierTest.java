/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.descriptor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Random;
import java.util.zip.Checksum;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.location.ChecksumAlgorithm;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.location.MapOutputDescriptor;

class BlockVerifierTest {
  private static final long[] LENGTHS = {100, 0, 5000, 0, 0, 1, 300, 0};
  private static final byte[] DATA = new byte[5401];

  static {
    new Random(7).nextBytes(DATA);
  }

  private static KnownDescriptor descriptor(ChecksumAlgorithm algorithm) throws Exception {
    int[] checksums = new int[LENGTHS.length];
    int at = 0;
    for (int i = 0; i < LENGTHS.length; i++) {
      if (algorithm != ChecksumAlgorithm.NONE) {
        Checksum checksum = algorithm.newChecksum();
        checksum.update(DATA, at, (int) LENGTHS[i]);
        checksums[i] = (int) checksum.getValue();
      }
      at += (int) LENGTHS[i];
    }
    MapOutputDescriptor.Header header =
        new MapOutputDescriptor.Header(algorithm, 1, 2, 3, LENGTHS.length, 4096, DATA.length, 5);
    ByteBuffer bytes = ByteBuffer.allocate((int) MapOutputDescriptor.sizeBytes(LENGTHS.length));
    MapOutputDescriptor.encode(
        bytes,
        0,
        new DescriptorSeal(new byte[] {1}),
        header,
        LENGTHS,
        algorithm == ChecksumAlgorithm.NONE ? null : checksums);
    KnownDescriptor known = KnownDescriptor.of(header, bytes, Deadline.afterMs(1_000));
    bytes.position(MapOutputDescriptor.HEADER_BYTES);
    return known.withEntries(bytes, 0, LENGTHS.length);
  }

  private static BlockVerifier verifier(ChecksumAlgorithm algorithm) throws Exception {
    return new BlockVerifier(descriptor(algorithm), 0, LENGTHS.length);
  }

  @ParameterizedTest
  @EnumSource(ChecksumAlgorithm.class)
  void bytesInPiecesOfAnySizeMatch(ChecksumAlgorithm algorithm) throws Exception {
    for (int piece : new int[] {1, 7, 100, 4096, DATA.length}) {
      BlockVerifier verifier = verifier(algorithm);
      for (int at = 0; at < DATA.length; at += piece) {
        verifier.update(ByteBuffer.wrap(DATA, at, Math.min(piece, DATA.length - at)));
      }
      assertThat(verifier.isComplete()).as("pieces of %d", piece).isTrue();
    }
  }

  @ParameterizedTest
  @EnumSource(value = ChecksumAlgorithm.class, mode = EnumSource.Mode.EXCLUDE, names = "NONE")
  void oneFlippedBitAnywhereIsFound(ChecksumAlgorithm algorithm) throws Exception {
    for (int at = 0; at < DATA.length; at += 97) {
      byte[] flipped = DATA.clone();
      flipped[at] ^= 4;
      BlockVerifier verifier = verifier(algorithm);
      verifier.update(ByteBuffer.wrap(flipped));
      assertThat(verifier.isComplete()).as("byte %d", at).isFalse();
    }
  }

  @Test
  void missingBytesAreNotComplete() throws Exception {
    BlockVerifier verifier = verifier(ChecksumAlgorithm.NONE);
    verifier.update(ByteBuffer.wrap(DATA, 0, DATA.length - 1));
    assertThat(verifier.isComplete()).isFalse();
  }

  @Test
  void bytesPastTheEndAreRefused() throws Exception {
    BlockVerifier verifier = verifier(ChecksumAlgorithm.CRC32C);
    verifier.update(ByteBuffer.wrap(DATA));
    assertThatThrownBy(() -> verifier.update(ByteBuffer.allocate(1)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aRangeOfEmptyPartitionsIsComplete() throws Exception {
    BlockVerifier verifier = new BlockVerifier(descriptor(ChecksumAlgorithm.CRC32C), 3, 5);
    assertThat(verifier.isComplete()).isTrue();
  }
}
