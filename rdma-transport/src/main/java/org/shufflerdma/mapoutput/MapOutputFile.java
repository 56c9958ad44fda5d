/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.nio.file.Path;

/** A committed map output: its data file and where the partitions lie in it. */
@SuppressWarnings("ArrayRecordComponent")
public record MapOutputFile(
    int shuffleId,
    long mapId,
    Path dataFile,
    long[] partitionLengths,
    PartitionChecksums checksums) {

  /** Adds up the lengths, which takes as long as there are partitions. */
  long lengthBytes() {
    long sum = 0;
    for (long length : partitionLengths) {
      sum += length;
    }
    return sum;
  }
}
