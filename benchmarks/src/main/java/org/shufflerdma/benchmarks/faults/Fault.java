/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.faults;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One fault, as {@link FaultCatalogue} drew it.
 *
 * @param executor index of the executor whose device is asked
 * @param before commands to that device ahead of the rule
 * @param rule its last part strikes, or tells when to take the action
 * @param action what is done once the rule has struck; null if that is the fault
 * @param hurtsSpark whether Spark itself loses a process or files, after which a job may fail
 * @param endsRdma whether the executors go on without RDMA, so that new ones are needed
 */
record Fault(
    int executor,
    List<String> before,
    String rule,
    @Nullable String action,
    boolean hurtsSpark,
    boolean endsRdma) {

  @Override
  public String toString() {
    return "executor " + executor + ": "
        + (before.isEmpty() ? "" : String.join(", ", before) + ", ")
        + rule
        + (action == null ? "" : " then " + action);
  }
}
