/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

/**
 * The bytes that reducers read, by way. The first four are the plugin's own counts; the last two
 * are Spark's. Each checks the other.
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
