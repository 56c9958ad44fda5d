/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import org.shufflerdma.connection.TransportStats;
import org.shufflerdma.mapoutput.UnpublishedReason;

/**
 * A count of work that tasks share, such as connections. Each task that ends reports the increase since
 * the last report, so that the sum over all tasks is exact although the share of one task is not.
 */
final class SharedCount {
  static final String READS = "shuffle.rdma.reads";
  static final String CONNECTIONS = "shuffle.rdma.connections";
  static final String REFUSED_BY_BUDGET = ExecutorCounts.nameOf(UnpublishedReason.BUDGET);
  static final String REFUSED_BY_DESCRIPTORS = ExecutorCounts.nameOf(UnpublishedReason.DESCRIPTORS);

  static final List<String> NAMES =
      List.of(READS, CONNECTIONS, REFUSED_BY_BUDGET, REFUSED_BY_DESCRIPTORS);

  private final String name;
  private final LongSupplier total;
  private final AtomicLong taken = new AtomicLong();

  private SharedCount(String name, LongSupplier total) {
    this.name = name;
    this.total = total;
  }

  /** @param unpublished how many map outputs stayed unpublished for a reason */
  static List<SharedCount> of(TransportStats stats, ToLongFunction<UnpublishedReason> unpublished) {
    return List.of(
        new SharedCount(READS, stats.readsPosted::sum),
        new SharedCount(CONNECTIONS, stats.connectionsOpened::sum),
        new SharedCount(REFUSED_BY_BUDGET, () -> unpublished.applyAsLong(UnpublishedReason.BUDGET)),
        new SharedCount(
            REFUSED_BY_DESCRIPTORS, () -> unpublished.applyAsLong(UnpublishedReason.DESCRIPTORS)));
  }

  String name() {
    return name;
  }

  long takeNew() {
    long now = total.getAsLong();
    long before = taken.getAndAccumulate(now, Math::max);
    return Math.max(0, now - before);
  }
}
