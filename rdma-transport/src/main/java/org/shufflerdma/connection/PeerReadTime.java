/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

/**
 * How long READs of one peer's data took.
 *
 * @param lists lists of READs that succeeded
 * @param totalNs the sum over these lists of the nanoseconds from the post to the completion
 */
public record PeerReadTime(PeerId peer, long lists, long totalNs) {
  /** Returns the mean of a list in nanoseconds; 0 if there is none. */
  public long meanNs() {
    return lists == 0 ? 0 : totalNs / lists;
  }
}
