/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;

/**
 * Is told the outcome of each block of a {@link BackgroundFetch}, in exactly one call per block, by a worker, unless the
 * fetch is cancelled before. The calls may block; they keep the other blocks of the fetch waiting. A block whose {@link #onSuccess} or {@link #onStreamed} throws is
 * then reported to {@link #onFailure} as {@link TcpReason#INTERNAL}.
 */
public interface FetchListener {
  /**
   * The block has been read and verified. The listener owns one reference to it and must release it,
   * also if it throws.
   */
  void onSuccess(long tag, RegisteredSlice block, Origin origin);

  /** The block has been written to its sink and verified. */
  void onStreamed(long tag, long lengthBytes, Origin origin);

  /** RDMA could not deliver the block, or it is empty. */
  void onFailure(long tag, TcpReason reason, Throwable cause);
}
