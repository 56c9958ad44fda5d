/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.device.ExecutorMemory;

/**
 * What to set so that more map outputs are registered.
 *
 * @param registeredBytes what the user has set as the budget; null if it follows from other limits
 * @param overhead from which it then follows on YARN and Kubernetes; null elsewhere
 * @param executors says how many the application has, which takes Spark a look at all of them
 * @param lacksDescriptors whether more outputs were refused for want of descriptors and mappings than for want
 *     of memory
 */
record MemoryAdvice(
    @Nullable Long registeredBytes,
    ExecutorMemory.@Nullable Overhead overhead,
    IntSupplier executors,
    boolean lacksDescriptors) {
  private static final String BUDGET = "spark.shuffle.rdma.maxRegisteredBytes";
  private static final long STEP = 64L << 20;

  /** Returns what the owners of outputs that are not registered had too little of, after "whose". */
  String wanting() {
    return lacksDescriptors
        ? "share of open files or mappings was used up"
        : "budget of registered bytes was full";
  }

  /**
   * Returns what registers map outputs of which so many bytes were staged for remote readers, on all
   * executors together.
   */
  String toRegister(long stagedBytes) {
    if (lacksDescriptors) {
      return "raise the limit of open files of the executors (ulimit -n, or LimitNOFILE= of the service that starts"
          + " them), and vm.max_map_count of their hosts if that is the smaller number";
    }
    // Of n executors, each reads 1/n of all bytes from itself. Of a larger budget, at least 5/8 are
    // for outputs.
    long each = stagedBytes / Math.max(1, executors.getAsInt() - 1);
    long more = (each / 5 * 8 + STEP) / STEP * STEP;
    if (registeredBytes != null) {
      return "set " + BUDGET + "=" + setting(registeredBytes + more)
          + (overhead == null ? "" : ", and " + overhead.key() + " to at least that");
    }
    if (overhead != null) {
      // Half of it may be registered.
      return "set " + overhead.key() + "=" + setting(overhead.bytes() + 2 * more);
    }
    return "set " + BUDGET + " to " + setting(more)
        + " more than the executors' first lines say may be registered";
  }

  private static String setting(long bytes) {
    return ((bytes + (1 << 20) - 1) >> 20) + "m";
  }
}
