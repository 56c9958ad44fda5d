/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.location.PartitionRanges;

/**
 * The part of a map output's descriptor that has been read and checked.
 *
 * @param lease end of the time in which it is relied upon; the owner may withdraw the output any time
 */
record KnownDescriptor(MapOutputDescriptor.Header header, PartitionRanges ranges, Deadline lease) {
  boolean covers(BlockRequest block) {
    return ranges.covers(block.startPartition(), block.endPartition());
  }

  long remoteAddress(BlockRequest block) {
    return header.dataAddress() + ranges.offset(block.startPartition());
  }

  long lengthBytes(BlockRequest block) {
    return ranges.lengthBytes(block.startPartition(), block.endPartition());
  }

  BlockVerifier verifier(BlockRequest block) {
    return new BlockVerifier(
        header.checksumAlgorithm(), ranges, block.startPartition(), block.endPartition());
  }
}
