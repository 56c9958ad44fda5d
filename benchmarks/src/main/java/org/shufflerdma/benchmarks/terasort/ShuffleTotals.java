/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

/**
 * Bytes that reducers read, by way. The first four are the shuffle's own count; the last two are
 * what Spark counted by itself, so each checks the other.
 */
record ShuffleTotals(
    long rdmaBytes,
    long tcpBytes,
    long hostLocalBytes,
    long localBytes,
    long sparkRemoteBytes,
    long sparkLocalBytes) {

  long read() {
    return sparkRemoteBytes + sparkLocalBytes;
  }
}
