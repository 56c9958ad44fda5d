/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.descriptor;

import java.nio.ByteBuffer;
import java.util.zip.Checksum;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.location.ChecksumAlgorithm;

/**
 * Compares the bytes of a block, given in order and in pieces of any size, with the checksums of
 * its partitions. Used by one thread at a time.
 */
public final class BlockVerifier {
  private final @Nullable Checksum checksum;
  private final KnownDescriptor descriptor;
  private final int endPartition;
  private int partition;
  private long leftInPartition;
  private boolean matches = true;

  public BlockVerifier(KnownDescriptor descriptor, int startPartition, int endPartition) {
    ChecksumAlgorithm algorithm = descriptor.header().checksumAlgorithm();
    this.checksum = algorithm == ChecksumAlgorithm.NONE ? null : algorithm.newChecksum();
    this.descriptor = descriptor;
    this.endPartition = endPartition;
    this.partition = startPartition - 1;
    nextPartition();
  }

  /** Adds the next bytes of the block, and moves their position to their limit. */
  public void update(ByteBuffer bytes) {
    while (bytes.hasRemaining()) {
      if (partition == endPartition) {
        throw new IllegalArgumentException(
            bytes.remaining() + " bytes lie beyond the end of the block");
      }
      int count = (int) Math.min(leftInPartition, bytes.remaining());
      ByteBuffer piece = bytes.slice(bytes.position(), count);
      bytes.position(bytes.position() + count);
      if (checksum != null) {
        checksum.update(piece);
      }
      leftInPartition -= count;
      if (leftInPartition == 0) {
        compare();
        nextPartition();
      }
    }
  }

  /** Returns whether all bytes were seen and each partition had its checksum. */
  public boolean isComplete() {
    return matches && partition == endPartition;
  }

  private void compare() {
    if (checksum != null) {
      matches &= (int) checksum.getValue() == descriptor.checksum(partition);
      checksum.reset();
    }
  }

  /** Partitions without bytes have nothing to compare. */
  private void nextPartition() {
    do {
      partition++;
      leftInPartition = partition == endPartition ? 0 : descriptor.lengthBytes(partition);
    } while (leftInPartition == 0 && partition < endPartition);
  }
}
