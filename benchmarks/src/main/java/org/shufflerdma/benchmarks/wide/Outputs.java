/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.wide;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.shufflerdma.benchmarks.fetch.FetchServer;
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
  private final PartitionChecksums checksums;

  /** Writes the files. */
  Outputs(Path directory, String name) throws IOException {
    this.data = directory.resolve(name + ".data");
    this.index = directory.resolve(name + ".index");
    byte[] all = new byte[PARTITIONS * BLOCK_BYTES];
    new Random(1).nextBytes(all);
    Files.write(data, all);
    FetchServer.writeIndex(index, PARTITIONS, BLOCK_BYTES);
    Arrays.fill(lengths, BLOCK_BYTES);
    checksums = PartitionChecksums.compute(data, lengths);
  }

  MapOutputFile file(long mapId) {
    return new MapOutputFile(SHUFFLE_ID, mapId, data, lengths, checksums);
  }

  CommittedOutputs.Files open() throws IOException {
    return CommittedOutputs.Files.open(data, index);
  }
}
