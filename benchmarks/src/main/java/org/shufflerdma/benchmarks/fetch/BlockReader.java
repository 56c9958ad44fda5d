/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

/** One way to fetch blocks from the server's process. */
interface BlockReader {
  /** Is called before each pass, so that no pass profits from what an earlier one has learnt. */
  void begin(BlockSet set) throws Exception;

  /** Begins to fetch one partition of all maps, or fetches it. Every block is verified, then told to the tally. */
  void request(BlockSet set, int partition, Tally tally) throws Exception;
}
