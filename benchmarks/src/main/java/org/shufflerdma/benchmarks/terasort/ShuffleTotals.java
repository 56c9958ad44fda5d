/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

/**
 * The bytes that reducers read. The first two are the plugin's own counts; the last two are Spark's.
 */
record ShuffleTotals(long rdmaBytes, long tcpBytes, long sparkRemoteBytes, long sparkLocalBytes) {

  long read() {
    return sparkRemoteBytes + sparkLocalBytes;
  }
}
