/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.wide;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.CRC32C;
import org.shufflerdma.location.ChecksumAlgorithm;
import org.shufflerdma.mapoutput.MapOutputFile;
import org.shufflerdma.mapoutput.PartitionChecksums;
import org.shufflerdma.staging.CommittedOutputs;

/** The map outputs of all nodes of a process, which have the same files. Any thread may call. */
final class Outputs {
  static final int SHUFFLE_ID = 1;
  static final int MAPS = 8;
  static final int PARTITIONS = 4;
  static final int BLOCK_BYTES = 12 << 10;

  private final Path data;
  private final Path index;
  private final long[] lengths = new long[PARTITIONS];
  private final int[] checksums = new int[PARTITIONS];

  private Outputs(Path directory, String name) {
    this.data = directory.resolve(name + ".data");
    this.index = directory.resolve(name + ".index");
  }

  static Outputs write(Path directory, String name) throws IOException {
    Outputs outputs = new Outputs(directory, name);
    byte[] all = new byte[PARTITIONS * BLOCK_BYTES];
    new Random(1).nextBytes(all);
    Files.write(outputs.data, all);
    ByteBuffer offsets = ByteBuffer.allocate((PARTITIONS + 1) * Long.BYTES);
    for (int partition = 0; partition <= PARTITIONS; partition++) {
      offsets.putLong((long) partition * BLOCK_BYTES);
    }
    Files.write(outputs.index, offsets.array());
    Arrays.fill(outputs.lengths, BLOCK_BYTES);
    for (int partition = 0; partition < PARTITIONS; partition++) {
      CRC32C sum = new CRC32C();
      sum.update(all, partition * BLOCK_BYTES, BLOCK_BYTES);
      outputs.checksums[partition] = (int) sum.getValue();
    }
    return outputs;
  }

  MapOutputFile file(long mapId) {
    return new MapOutputFile(
        SHUFFLE_ID,
        mapId,
        data,
        lengths,
        new PartitionChecksums(ChecksumAlgorithm.CRC32C, checksums));
  }

  CommittedOutputs.Files open() throws IOException {
    return CommittedOutputs.Files.open(data, index);
  }
}
