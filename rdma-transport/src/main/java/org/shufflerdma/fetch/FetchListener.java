/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;

/**
 * Is told the outcome of each block of a fetch, in exactly one call per block, from any thread,
 * unless the fetch is cancelled before. A block whose {@link #onSuccess} or {@link #onStreamed} throws is
 * then reported to {@link #onFailure} as {@link TcpReason#INTERNAL}.
 */
public interface FetchListener {
  /**
   * The block has been read and verified. The listener owns one reference to it and must release it,
   * also if it throws. The calling thread serves all connections: the call must not block.
   */
  void onSuccess(long tag, RegisteredSlice block);

  /** The block has been written to its sink and verified. The call may block. */
  void onStreamed(long tag, long lengthBytes);

  /** RDMA could not deliver the block. The call may block. */
  void onFailure(long tag, TcpReason reason, Throwable cause);
}
