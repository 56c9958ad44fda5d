/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.EnumMap;
import java.util.Map;
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
  private final Map<FetchFailureReason, LongAdder> failures =
      new EnumMap<>(FetchFailureReason.class);

  FetchStats() {
    for (FetchFailureReason reason : FetchFailureReason.values()) {
      failures.put(reason, new LongAdder());
    }
  }

  void countFailure(FetchFailureReason reason) {
    counter(reason).increment();
  }

  /** Returns the number of blocks that were reported failed for this reason. */
  public long failures(FetchFailureReason reason) {
    return counter(reason).sum();
  }

  private LongAdder counter(FetchFailureReason reason) {
    LongAdder counter = failures.get(reason);
    if (counter == null) {
      throw new IllegalStateException("no counter exists for reason " + reason);
    }
    return counter;
  }
}
