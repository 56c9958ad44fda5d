/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A host, or an executor, that took part in the examination of a cluster.
 *
 * @param name of the host; where several executors of a host take part, with the executor's id
 * @param exam null if it did not end
 * @param clockAheadMs of the driver's clock; negative if it is behind
 * @param clockErrorMs how much more or less that may be: half of the time that a question took
 * @param countersAfter those of the port after all measurements
 * @param lost why it stopped taking part; null if it did not
 */
public record Examined(
    String name,
    String executorId,
    @Nullable HostExam exam,
    double clockAheadMs,
    double clockErrorMs,
    Map<String, Long> countersAfter,
    @Nullable String lost) {
  /** Returns by how much each counter of the port rose during the measurements; only those that did. */
  Map<String, Long> countersRisen() {
    Map<String, Long> risen = new TreeMap<>();
    HostExam before = exam;
    if (before != null) {
      countersAfter.forEach((counter, after) -> {
        long more = after - before.counters().getOrDefault(counter, 0L);
        if (more > 0) {
          risen.put(counter, more);
        }
      });
    }
    return risen;
  }
}
