/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.jobs;

import org.apache.spark.Partitioner;

/** Ranges of keys of equal width. */
final class KeyRange extends Partitioner {
  private static final long serialVersionUID = 1L;

  private final int partitions;

  KeyRange(int partitions) {
    this.partitions = partitions;
  }

  @Override
  public int numPartitions() {
    return partitions;
  }

  @Override
  public int getPartition(Object key) {
    return (int) (((Key) key).rank() * partitions / Key.RANKS);
  }
}
