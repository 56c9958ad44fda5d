/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * What a queue pair may have at most, whatever the connection manager negotiated.
 *
 * @param access what the peer may do: {@link Access} flags, exactly these
 * @param mtuBytes of a packet; both ends of a connection need the same limit
 * @param initiatorDepth READs of this side in progress
 * @param responderResources READs of the peer in progress
 */
public record QueuePairLimits(
    int access, int mtuBytes, int initiatorDepth, int responderResources) {
  /** In the order of qp_state.c. */
  int[] toArray() {
    return new int[] {access, Mtu.toEnum(mtuBytes), initiatorDepth, responderResources};
  }
}
