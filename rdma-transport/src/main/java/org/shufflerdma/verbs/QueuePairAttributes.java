/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * The attributes of a connected queue pair, as {@code ibv_query_qp} reports them.
 *
 * @param access what the peer may do: {@link Access} flags
 * @param ackTimeout the exponent n of 4.096 us * 2^n; 0 waits for ever
 * @param maxRdAtomic the most READs of this side in progress
 * @param maxDestRdAtomic the most READs of the peer in progress
 * @param trafficClass IP's type of service
 * @param gidIndex of this side's address in the port's GID table; -1 where packets have no global route
 *     header, as within a subnet of InfiniBand
 * @param port of this side's device, from 1
 */
public record QueuePairAttributes(
    QueuePairState state,
    int access,
    int pathMtuBytes,
    int ackTimeout,
    int retryCount,
    int rnrRetryCount,
    int maxRdAtomic,
    int maxDestRdAtomic,
    int trafficClass,
    int gidIndex,
    int port) {
  static final int WORDS = 11;

  /** Reads the attributes from the words that qp_state.c fills. */
  static QueuePairAttributes of(int[] words) {
    return new QueuePairAttributes(
        QueuePairState.of(words[0]),
        words[1],
        Mtu.toBytes(words[2]),
        words[3],
        words[4],
        words[5],
        words[6],
        words[7],
        words[8],
        words[9],
        words[10]);
  }
}
