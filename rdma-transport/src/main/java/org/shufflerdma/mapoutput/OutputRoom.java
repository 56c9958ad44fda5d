/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.util.concurrent.atomic.AtomicLong;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.verbs.FileRegionCost;
import org.shufflerdma.verbs.ProcessLimits;

/**
 * The room that there is for registered map outputs: bytes of a budget, and a share of the descriptors and
 * mappings of the process, of which each output keeps some. It is taken before an output is registered, and
 * given back when the output no longer is. Any thread may call.
 */
final class OutputRoom {
  /** About so many an executor has open before it runs a task: its class path, logs and sockets. */
  static final long RESERVED_DESCRIPTORS = 256;

  /**
   * The files that tasks write, the device's connections, the files of peers and what is staged need the
   * others.
   */
  private static final long SHARE = 4;

  private final RegistrationBudget budget;
  private final ProcessLimits limits;
  private final long mostOutputs;
  private final AtomicLong outputs = new AtomicLong();

  /** @param cost that of each output */
  OutputRoom(RegistrationBudget budget, ProcessLimits limits, FileRegionCost cost) {
    this.budget = budget;
    this.limits = limits;
    this.mostOutputs = Math.min(
        share(limits.descriptors() - RESERVED_DESCRIPTORS, cost.descriptors()),
        share(limits.mappings(), cost.mappings()));
  }

  private static long share(long limit, int cost) {
    return cost == 0 ? Long.MAX_VALUE : Math.max(0, limit / SHARE / cost);
  }

  /** Throws what {@link #take} would throw now. */
  void require(long lengthBytes) throws NotPublishedException {
    if (outputs.get() >= mostOutputs) {
      throw noDescriptor();
    }
    if (budget.pages(lengthBytes) > budget.limitBytes() - budget.usedBytes()) {
      throw noBytes(lengthBytes);
    }
  }

  /** Takes the room of one output. */
  void take(long lengthBytes) throws NotPublishedException {
    if (outputs.incrementAndGet() > mostOutputs) {
      outputs.decrementAndGet();
      throw noDescriptor();
    }
    if (!budget.tryTake(lengthBytes)) {
      outputs.decrementAndGet();
      throw noBytes(lengthBytes);
    }
  }

  void giveBack(long lengthBytes) {
    budget.giveBack(lengthBytes);
    outputs.decrementAndGet();
  }

  private NotPublishedException noBytes(long lengthBytes) {
    return new NotPublishedException(
        UnpublishedReason.BUDGET, "there is no room for its " + lengthBytes + " bytes: " + budget);
  }

  private NotPublishedException noDescriptor() {
    return new NotPublishedException(
        UnpublishedReason.DESCRIPTORS,
        mostOutputs + " outputs are registered, which is the share of registered outputs in the "
            + limits.descriptors() + " files that the process may have open (ulimit -n) and its "
            + limits.mappings() + " mappings (vm.max_map_count)");
  }
}
