/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.concurrent.atomic.LongAdder;

/** The counts of one fetcher. Any thread may add and read. */
public final class FetchStats {
  public final LongAdder blocksDelivered = new LongAdder();
  public final LongAdder bytesDelivered = new LongAdder();
  /** Descriptors of which entries were read; a descriptor of many partitions counts each time. */
  public final LongAdder descriptorsRead = new LongAdder();

  /** Headers that were read alone, because the lease of a descriptor was over. */
  public final LongAdder descriptorsRenewed = new LongAdder();

  public final LongAdder checksumMismatches = new LongAdder();
  public final LongAdder retries = new LongAdder();

  FetchStats() {}
}
