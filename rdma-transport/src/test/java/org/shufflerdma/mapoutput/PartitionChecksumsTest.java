/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.location.ChecksumAlgorithm;

class PartitionChecksumsTest {
  @TempDir
  Path directory;

  @Test
  void computedValuesCoverEachPartitionAlone() throws Exception {
    byte[] bytes = new byte[1_000_000];
    new Random(5).nextBytes(bytes);
    Path file = Files.write(directory.resolve("data"), bytes);
    PartitionChecksums checksums =
        PartitionChecksums.compute(file, new long[] {10, 0, 700_000, 299_990});
    assertThat(checksums.algorithm()).isEqualTo(ChecksumAlgorithm.CRC32C);
    assertThat(checksums.values())
        .containsExactly(
            crc(bytes, 0, 10), 0, crc(bytes, 10, 700_010), crc(bytes, 700_010, 1_000_000));
  }

  private static int crc(byte[] bytes, int from, int to) {
    CRC32C crc = new CRC32C();
    crc.update(Arrays.copyOfRange(bytes, from, to));
    return (int) crc.getValue();
  }

  @Test
  void fileCutShortIsAnException() throws Exception {
    Path file = Files.write(directory.resolve("data"), new byte[10]);
    assertThatThrownBy(() -> PartitionChecksums.compute(file, new long[] {5, 6}))
        .isInstanceOf(IOException.class)
        .hasMessageEndingWith("ends within partition 1");
  }

  @Test
  void sparksFileGivesTheLowHalfOfEachWord() throws Exception {
    ByteBuffer words = ByteBuffer.allocate(16).putLong(0xFFFF_FFFFL).putLong(7);
    Path file = Files.write(directory.resolve("sums"), words.array());
    PartitionChecksums checksums =
        PartitionChecksums.ofSparkFile(file, ChecksumAlgorithm.ADLER32, 2);
    assertThat(checksums.values()).containsExactly(-1, 7);
    assertThatThrownBy(() -> PartitionChecksums.ofSparkFile(file, ChecksumAlgorithm.ADLER32, 3))
        .hasMessageEndingWith("has not the 24 bytes of 3 checksums, but 16");
  }
}
