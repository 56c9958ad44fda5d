/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * The limits of a queue pair, whatever the connection manager negotiated.
 *
 * @param access what the peer may do: exactly these {@link Access} flags
 * @param mtuBytes the largest packet; both ends of a connection need the same limit
 * @param initiatorDepth the most READs of this side in progress
 * @param responderResources the most READs of the peer in progress
 */
public record QueuePairLimits(
    int access, int mtuBytes, int initiatorDepth, int responderResources) {
  /** Returns the limits in the order that qp_state.c reads. */
  int[] toArray() {
    return new int[] {access, Mtu.toEnum(mtuBytes), initiatorDepth, responderResources};
  }
}
