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

  long lengthBytes() {
    long sum = 0;
    for (long length : partitionLengths) {
      sum = Math.addExact(sum, length);
    }
    return sum;
  }
}
