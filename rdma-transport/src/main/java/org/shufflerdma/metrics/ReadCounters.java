/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.ObjLongConsumer;
import java.util.stream.Collectors;

/** The counts of block reads of one task, or of all tasks of an executor so far. Thread-safe. */
public final class ReadCounters {
  private final Map<ReadCount, LongAdder> values = ReadCount.ALL.stream()
      .collect(Collectors.toUnmodifiableMap(Function.identity(), count -> new LongAdder()));

  public void add(ReadCount count, long amount) {
    adder(count).add(amount);
  }

  public long get(ReadCount count) {
    return adder(count).sum();
  }

  private LongAdder adder(ReadCount count) {
    return Objects.requireNonNull(values.get(count));
  }

  /**
   * Returns the percentage of blocks that RDMA delivered, of those it delivered and those it missed
   * because their map output was not registered; 0 if there were none.
   */
  public long hitPercent() {
    return hitPercent(get(Counter.RDMA_BLOCKS), get(Counter.MISSED_BLOCKS));
  }

  /** Returns the percentage for sums over several tasks; see {@link #hitPercent()}. */
  public static long hitPercent(long hits, long misses) {
    return hits == 0 ? 0 : 100 * hits / (hits + misses);
  }

  public void addAll(ReadCounters other) {
    ReadCount.ALL.forEach(count -> add(count, other.get(count)));
  }

  /** Calls {@code visitor} with the public name and value of every count that is not 0. */
  public void forEachNonZero(ObjLongConsumer<String> visitor) {
    for (ReadCount count : ReadCount.ALL) {
      if (get(count) != 0) {
        visitor.accept(count.publicName(), get(count));
      }
    }
  }
}
