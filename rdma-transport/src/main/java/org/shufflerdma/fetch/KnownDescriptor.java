/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.location.PartitionRanges;

/**
 * What has been read, and checked, of a map output's descriptor.
 *
 * @param lease until when it is relied upon; its owner may withdraw the output at any time
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
