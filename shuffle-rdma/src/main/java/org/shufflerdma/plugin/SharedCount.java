/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.shufflerdma.connection.TransportStats;

/**
 * A count of work that tasks share, such as connections. Each task that ends reports the increase since
 * the last report, so that the sum over all tasks is exact although the share of one task is not.
 */
final class SharedCount {
  static final String READS = "shuffle.rdma.reads";
  static final String CONNECTIONS = "shuffle.rdma.connections";

  private final String name;
  private final LongSupplier total;
  private final AtomicLong taken = new AtomicLong();

  private SharedCount(String name, LongSupplier total) {
    this.name = name;
    this.total = total;
  }

  static List<SharedCount> of(TransportStats stats) {
    return List.of(
        new SharedCount(READS, stats.readsPosted::sum),
        new SharedCount(CONNECTIONS, stats.connectionsOpened::sum));
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
