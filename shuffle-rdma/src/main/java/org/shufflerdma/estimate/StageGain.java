/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The most that a stage can gain. Parts that exceed the stage's time together are reduced alike.
 *
 * @param writer null if the stage writes no shuffle
 * @param sorts whether its tasks sort by an order of keys of the RDD API
 * @param transportMs of the stage's wall time, as are the next two
 */
record StageGain(
    StageTotals totals,
    @Nullable WriterFinding writer,
    boolean sorts,
    double transportMs,
    double writerMs,
    double sorterMs) {
  private static final Set<String> SORTING =
      Set.of("sortByKey", "sortBy", "repartitionAndSortWithinPartitions");

  /** Reduce stages of sorts that spilled used up to three times the CPU with Spark's sorter, transport included. */
  private static final double SORTER_SHARE = 2.0 / 3;

  /** Map stages of sorts took up to 1.5 times as long, for a reason that nobody has examined (docs/benchmarks.md). */
  private static final double FEEDING_SHARE = 1.0 / 3;

  static StageGain of(
      StageTotals totals, List<WriterFinding.Reader> readers, SparkProperties properties) {
    WriterFinding writer =
        totals.mapOutputs() == 0 ? null : WriterFinding.of(totals, readers, properties);
    StageDescription described = totals.description();
    boolean sorts = described != null && described.inputs().stream().anyMatch(StageGain::isSort);
    boolean feedsSort =
        readers.stream().map(WriterFinding.Reader::input).anyMatch(StageGain::isSort);
    double share = sorts ? SORTER_SHARE : feedsSort ? FEEDING_SHARE : 0;
    double run = totals.of(TaskMetric.RUN_MS) * 1000.0;
    double transport = totals.transportMicros();
    double writers = writer == null ? 0 : writer.mostSavedMicros();
    double sorter = share * Math.max(0, run - transport - writers);
    double all = transport + writers + sorter;
    // Tasks run side by side, so that a stage gains the share that its tasks gain, or what its
    // slowest does.
    double whole = totals.wallMs();
    double wall = run == 0 || all == 0
        ? 0
        : Math.min(whole, Math.max(whole * all / run, totals.mostTransportMicros() / 1000));
    double scale = all == 0 ? 0 : wall / all;
    return new StageGain(totals, writer, sorts, transport * scale, writers * scale, sorter * scale);
  }

  private static boolean isSort(StageDescription.Input input) {
    return input.rdd().equals("ShuffledRDD") && SORTING.contains(input.scope());
  }

  /** Returns what it gains as a stage that reads; the rest it gains as one that writes. */
  double readingMs() {
    return transportMs + (sorts ? sorterMs : 0);
  }

  double allMs() {
    return transportMs + writerMs + sorterMs;
  }
}
