/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * What is to be said of an application.
 *
 * @param stages those that shuffle, the one that can gain most first
 * @param busyMs for which at least one stage ran
 * @param memory null if nothing was shuffled between executors
 */
record Findings(
    Application application,
    List<StageGain> stages,
    long busyMs,
    @Nullable MemoryFinding memory) {

  static Findings of(Application application) {
    Map<Long, List<WriterFinding.Reader>> readers = readers(application);
    List<StageGain> stages = application.stages().stream()
        .filter(StageTotals::shuffles)
        .map(totals -> {
          StageDescription described = totals.description();
          return StageGain.of(
              totals,
              described == null ? List.of() : readers.getOrDefault(described.rddId(), List.of()),
              application.properties());
        })
        .sorted(Comparator.comparingDouble(StageGain::allMs)
            .reversed()
            .thenComparing(stage -> stage.totals().key))
        .toList();
    return new Findings(
        application,
        stages,
        union(new ArrayList<>(application.stages())),
        stages.isEmpty() ? null : MemoryFinding.of(application, stages));
  }

  /** By the RDD whose map outputs they read. */
  private static Map<Long, List<WriterFinding.Reader>> readers(Application application) {
    Map<Long, List<WriterFinding.Reader>> readers = new HashMap<>();
    for (StageTotals totals : application.stages()) {
      StageDescription described = totals.description();
      if (described != null) {
        described
            .inputs()
            .forEach(input -> readers
                .computeIfAbsent(input.mapRddId(), id -> new ArrayList<>())
                .add(new WriterFinding.Reader(input, described.properties())));
      }
    }
    return readers;
  }

  private static long union(List<StageTotals> stages) {
    stages.sort(Comparator.comparingLong(StageTotals::firstLaunchMs));
    long sum = 0;
    long until = 0;
    for (StageTotals stage : stages) {
      long from = Math.max(until, stage.firstLaunchMs());
      sum += Math.max(0, stage.lastFinishMs() - from);
      until = Math.max(until, stage.lastFinishMs());
    }
    return sum;
  }

  /** Returns the share of the busy time that can be gained at most, in per cent; 0 if the log gives no bound. */
  double mostPercent() {
    return percent(StageGain::allMs);
  }

  /** The same for one part of the gain. */
  double percent(ToDoubleFunction<StageGain> part) {
    double sum = stages.stream().mapToDouble(part).sum();
    double all = stages.stream().mapToDouble(StageGain::allMs).sum();
    // Stages that ran at the same time gain that time only once.
    return busyMs == 0 || all == 0 || !Verdict.isBounded(application.properties())
        ? 0
        : 100 * Math.min(all, (double) busyMs) / busyMs * (sum / all);
  }

  long sum(TaskMetric metric) {
    return stages.stream().mapToLong(stage -> stage.totals().of(metric)).sum();
  }
}
