/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.util.LongAccumulator;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCount;
import org.shufflerdma.metrics.ReadCounters;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports a task's counts through the driver's accumulators. Deserializing an accumulator in a task
 * registers it with that task, as if it had come in the task's closure; Spark does the rest.
 */
final class TaskAccumulators {
  private static final Logger LOG = LoggerFactory.getLogger(TaskAccumulators.class);

  /** With this prefix Spark names the accumulators of its own task metrics, which it does not show by name. */
  private static final String INTERNAL = "internal.metrics.";

  private static final Set<String> SHOWN = Stream.of(
          Counter.RDMA_BYTES, Counter.STAGED_BYTES, Counter.TCP_BYTES, Counter.TCP_BLOCKS)
      .map(ReadCount::publicName)
      .collect(Collectors.toUnmodifiableSet());

  private final Map<String, byte[]> serialized;

  TaskAccumulators(Map<String, byte[]> serialized) {
    this.serialized = serialized;
  }

  /**
   * The name of the accumulator of a count. Spark's status store keeps what each finished task reports by
   * accumulators that are shown; those with the prefix are in events and in the event log alone
   * (Spark's {@code LiveEntityHelpers.newAccumulatorInfos}).
   */
  static String sparkName(String publicName) {
    return SHOWN.contains(publicName) ? publicName : INTERNAL + publicName;
  }

  /** The public name of a count whose accumulator has that name. */
  static String publicName(String sparkName) {
    return sparkName.startsWith(INTERNAL) ? sparkName.substring(INTERNAL.length()) : sparkName;
  }

  /** Reports the counts. Call this in the task's thread, before the end of the task is reported. */
  void report(ReadCounters counters) {
    counters.forEachNonZero(this::report);
  }

  /** Reports one count unless it is 0. Call this like {@link #report(ReadCounters)}. */
  void report(String name, long value) {
    if (value == 0) {
      return;
    }
    byte[] bytes = serialized.get(name);
    if (bytes == null) {
      LOG.debug("The driver has no accumulator named {}", name);
      return;
    }
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
      ((LongAccumulator) in.readObject()).add(value);
    } catch (IOException | ClassNotFoundException | RuntimeException e) {
      LOG.error(
          "The count {}={} of a task could not be reported",
          name,
          value,
          e); // no reason to fail the task
    }
  }
}
