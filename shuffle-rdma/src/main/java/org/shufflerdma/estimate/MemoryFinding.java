/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.InvalidSettingException;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.device.ExecutorMemory;
import org.shufflerdma.device.MemoryPlan;
import org.shufflerdma.location.MapOutputDescriptor;
import org.shufflerdma.verbs.MemlockLimit;

/**
 * What of the map outputs a NIC that pins memory would have registered.
 *
 * @param neededBytes of an executor, for the two stages in a row that write most, in whole pages, with descriptors
 * @param plan of an executor as the application was configured; null if it follows from what the log does not tell
 * @param key the setting to raise
 * @param setBytes to which value, so that all is registered
 */
record MemoryFinding(long neededBytes, @Nullable MemoryPlan plan, String key, long setBytes) {
  private static final String PREFIX = "spark.shuffle.rdma.";
  private static final String OVERHEAD = "spark.executor.memoryOverhead";
  private static final String BUDGET = PREFIX + "maxRegisteredBytes";
  private static final long PAGE_BYTES = 4096;
  private static final long STEP = 64L << 20;
  private static final long MOST_STEPS = (64L << 40) / STEP;

  static MemoryFinding of(Application application, List<StageGain> stages) {
    SparkProperties properties = application.properties();
    long needed = needed(stages);
    RdmaSettings settings = settings(properties.values());
    ExecutorMemory.@Nullable Overhead overhead = overhead(properties);
    boolean byOverhead = settings.maxRegisteredBytes() == null && overhead != null;
    MemoryPlan plan = settings.maxRegisteredBytes() == null && overhead == null
        ? null
        : plan(settings, application, overhead);
    return new MemoryFinding(
        needed,
        plan,
        byOverhead ? OVERHEAD : BUDGET,
        least(needed, application, byOverhead ? null : properties.values()));
  }

  /** Returns the share of map outputs that finds room; 1 if all of them do. */
  double registeredShare() {
    return plan == null || neededBytes <= plan.outputBytes()
        ? 1
        : (double) plan.outputBytes() / neededBytes;
  }

  private static long needed(List<StageGain> stages) {
    List<StageGain> writing = stages.stream()
        .filter(stage -> stage.writer() != null)
        .sorted(Comparator.comparingLong(stage -> stage.totals().firstLaunchMs()))
        .toList();
    long most = 0;
    for (int i = 0; i < writing.size(); i++) {
      StageGain first = writing.get(i);
      boolean isLast = i + 1 == writing.size();
      StageGain second = writing.get(isLast ? i : i + 1);
      BitSet executors = (BitSet) first.totals().writers().clone();
      executors.or(second.totals().writers());
      double bytes = registered(first) + (isLast ? 0 : registered(second));
      most = Math.max(most, (long) (bytes / Math.max(1, executors.cardinality())));
    }
    return most;
  }

  private static double registered(StageGain stage) {
    long partitions =
        stage.writer() == null ? 0 : Math.min(stage.writer().partitions(), Integer.MAX_VALUE - 1L);
    double each = PAGE_BYTES + (double) MapOutputDescriptor.sizeBytes((int) partitions);
    return stage.totals().of(TaskMetric.BYTES_WRITTEN) + stage.totals().mapOutputs() * each;
  }

  /**
   * Returns the least size that registers so many bytes, in steps.
   *
   * @param values the settings of which the budget is raised; null to raise the overhead
   */
  private static long least(
      long needed, Application application, @Nullable Map<String, String> values) {
    long low = 1;
    long high = MOST_STEPS;
    while (low < high) {
      long middle = (low + high) / 2;
      if (outputBytes(middle * STEP, application, values) >= needed) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low * STEP;
  }

  private static long outputBytes(
      long bytes, Application application, @Nullable Map<String, String> values) {
    if (values == null) {
      RdmaSettings settings = settings(application.properties().values());
      return plan(settings, application, new ExecutorMemory.Overhead(bytes, OVERHEAD))
          .outputBytes();
    }
    Map<String, String> changed = new HashMap<>(values);
    changed.put(BUDGET, Long.toString(bytes));
    return plan(settings(changed), application, overhead(application.properties()))
        .outputBytes();
  }

  private static MemoryPlan plan(
      RdmaSettings settings, Application application, ExecutorMemory.@Nullable Overhead overhead) {
    SparkProperties properties = application.properties();
    long cores = Math.max(1, properties.number("spark.executor.cores", application.cores()));
    long heap = properties.bytes("spark.executor.memory", 'm', "1g");
    ExecutorMemory memory = new ExecutorMemory(
        new MemlockLimit(Long.MAX_VALUE, Long.MAX_VALUE, true),
        Long.MAX_VALUE, // The overhead bounds the container.
        Long.MAX_VALUE,
        Math.max(1, heap),
        overhead,
        false,
        ExecutorMemory.inFlightBytes(
            (int) Math.min(cores, 1 << 12),
            (int) Math.min(Math.max(1, properties.number("spark.task.cpus", 1)), 1 << 12),
            Math.min(properties.bytes("spark.reducer.maxSizeInFlight", 'm', "48m"), 1L << 40),
            properties.bytes("spark.network.maxRemoteBlockSizeFetchToMem", 'b', "200m")),
        1);
    return MemoryPlan.of(settings, memory, true, 0);
  }

  private static ExecutorMemory.@Nullable Overhead overhead(SparkProperties properties) {
    Long set = properties.bytesIfSet(OVERHEAD, 'm');
    if (set != null) {
      return new ExecutorMemory.Overhead(set, OVERHEAD);
    }
    String master = properties.get("spark.master", "");
    if (!master.equals("yarn") && !master.startsWith("k8s")) {
      return null;
    }
    long bytes = ExecutorMemory.defaultOverheadBytes(
        properties.bytes("spark.executor.memory", 'm', "1g"),
        properties.fraction("spark.executor.memoryOverheadFactor", 0.1),
        properties.bytes("spark.executor.minMemoryOverhead", 'm', "384m"));
    return new ExecutorMemory.Overhead(bytes, OVERHEAD);
  }

  /** Settings that the plugin would refuse count as not made. */
  private static RdmaSettings settings(Map<String, String> values) {
    try {
      return RdmaSettings.from(values, PREFIX, unknown -> {});
    } catch (InvalidSettingException e) {
      return RdmaSettings.from(Map.of(), PREFIX);
    }
  }
}
