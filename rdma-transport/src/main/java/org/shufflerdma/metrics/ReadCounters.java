/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.metrics;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ObjLongConsumer;

/** The counts of block reads of one task, or of all tasks of an executor so far. Thread-safe. */
public final class ReadCounters {
  private static final String FALLBACK_PREFIX = "shuffle.rdma.fallback.";

  private final Map<Counter, LongAdder> values = new EnumMap<>(Counter.class);
  private final ConcurrentHashMap<String, LongAdder> fallbacks = new ConcurrentHashMap<>();

  public ReadCounters() {
    for (Counter counter : Counter.values()) {
      values.put(counter, new LongAdder());
    }
  }

  /** Returns the public name of the count of blocks that took TCP for {@code reason}. */
  public static String fallbackName(String reason) {
    return FALLBACK_PREFIX + reason;
  }

  public void add(Counter counter, long amount) {
    adder(counter).add(amount);
  }

  public void addFallbacks(String reason, long blocks) {
    fallbacks.computeIfAbsent(reason, key -> new LongAdder()).add(blocks);
  }

  public long get(Counter counter) {
    return adder(counter).sum();
  }

  private LongAdder adder(Counter counter) {
    return Objects.requireNonNull(values.get(counter));
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

  /** Returns the number of blocks that took TCP, by reason. */
  public Map<String, Long> fallbacks() {
    Map<String, Long> counts = new TreeMap<>();
    fallbacks.forEach((reason, count) -> counts.put(reason, count.sum()));
    return counts;
  }

  public long fallbacks(String reason) {
    LongAdder count = fallbacks.get(reason);
    return count == null ? 0 : count.sum();
  }

  public void addAll(ReadCounters other) {
    for (Counter counter : Counter.values()) {
      add(counter, other.get(counter));
    }
    other.fallbacks().forEach(this::addFallbacks);
  }

  /** Calls {@code visitor} with the public name and value of every count that is not 0. */
  public void forEachNonZero(ObjLongConsumer<String> visitor) {
    for (Counter counter : Counter.values()) {
      if (get(counter) != 0) {
        visitor.accept(counter.publicName(), get(counter));
      }
    }
    fallbacks().forEach((reason, count) -> visitor.accept(fallbackName(reason), count));
  }
}
