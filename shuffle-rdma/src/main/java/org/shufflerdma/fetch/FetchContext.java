/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.ConnectionPool;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.memory.BufferPool;

/**
 * What the fetches of one fetcher share.
 *
 * @param workers where a fetch may block; takes every task, also while closing
 */
record FetchContext(
    ConnectionPool connections,
    BufferPool buffers,
    DescriptorCache cache,
    DescriptorSeal seal,
    Executor workers,
    BooleanSupplier closed,
    FetchStats stats,
    ReadPlan.Limits planLimits,
    int progressTimeoutMs,
    int poolWaitMs,
    int leaseMs) {
  Deadline progressDeadline() {
    return Deadline.afterMs(progressTimeoutMs);
  }

  Deadline descriptorLease() {
    return Deadline.afterMs(leaseMs);
  }

  Deadline poolDeadline() {
    return Deadline.afterMs(poolWaitMs);
  }
}
