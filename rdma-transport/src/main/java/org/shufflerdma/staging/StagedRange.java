/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

/**
 * What a reader asks for: the partitions {@code [startPartition, endPartition)} of one map output, from
 * their byte {@code fromByte} on.
 */
public record StagedRange(OutputName output, int startPartition, int endPartition, long fromByte) {
  public StagedRange {
    if (startPartition < 0 || endPartition <= startPartition || fromByte < 0) {
      throw new IllegalArgumentException(
          "partitions %d..%d from byte %d".formatted(startPartition, endPartition, fromByte));
    }
  }

  /** Of an output of Spark's. */
  public StagedRange(
      int shuffleId, long mapId, int startPartition, int endPartition, long fromByte) {
    this(OutputName.numbered(shuffleId, mapId), startPartition, endPartition, fromByte);
  }
}
