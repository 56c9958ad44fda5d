/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.descriptor;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * How far a block has come that is handed out piece by piece, in order, as it may be too large for memory. Used by one
 * thread at a time.
 */
public final class Pieces {
  private static final int MAX_BYTES = 4 << 20;

  private @Nullable BlockVerifier verifier;
  private long doneBytes;
  private boolean isOver;

  /** Where the piece that is read next begins in the block. */
  public long doneBytes() {
    return doneBytes;
  }

  /** The length of that piece. */
  public int bytesToCome(long blockBytes, int maxReadBytes) {
    return (int) Math.min(blockBytes - doneBytes, Math.min(MAX_BYTES, maxReadBytes));
  }

  /**
   * Takes the next piece. The checksums of the block are known to be right or wrong with the last one.
   *
   * @return false if they are wrong
   */
  public boolean take(KnownDescriptor at, int startPartition, int endPartition, ByteBuffer piece) {
    if (verifier == null) {
      verifier = new BlockVerifier(at, startPartition, endPartition);
    }
    doneBytes += piece.remaining();
    verifier.update(piece);
    isOver = doneBytes == at.lengthBytes(startPartition, endPartition);
    return !isOver || verifier.isComplete();
  }

  /** The block has come whole, with right checksums. */
  public void takeAll(int blockBytes) {
    doneBytes = blockBytes;
    isOver = true;
  }

  /** Whether the last piece has been taken. */
  public boolean isOver() {
    return isOver;
  }
}
