/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import org.jspecify.annotations.Nullable;
import org.shufflerdma.fetch.descriptor.DescriptorRef;

/**
 * A block to fetch: the partitions {@code [startPartition, endPartition)} of one map output.
 *
 * @param tag the caller's number for the block
 * @param sink receives the block piece by piece; null to deliver it in one buffer
 */
public record BlockRequest(
    long tag,
    DescriptorRef descriptor,
    int startPartition,
    int endPartition,
    @Nullable BlockSink sink) {
  public BlockRequest {
    if (startPartition < 0
        || endPartition <= startPartition
        || endPartition > descriptor.partitions()) {
      throw new IllegalArgumentException("partitions %d..%d of %d"
          .formatted(startPartition, endPartition, descriptor.partitions()));
    }
  }
}
