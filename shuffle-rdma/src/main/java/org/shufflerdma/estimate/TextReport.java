/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The report for people: a verdict, two tables, memory, and what it all assumes. */
final class TextReport {
  private static final int ROWS = 12;
  private static final int NAME = 44;

  private final Findings findings;
  private final List<String> notes;
  private final StringBuilder out = new StringBuilder();

  TextReport(Findings findings, List<String> notes) {
    this.findings = findings;
    this.notes = notes;
  }

  String text() {
    Application application = findings.application();
    line("%s \"%s\": Spark %s, %s on %s, %s, stages ran for %s"
        .formatted(
            application.id().isEmpty() ? "application" : application.id(),
            application.name(),
            application.sparkVersion().isEmpty()
                ? "of an unknown version"
                : application.sparkVersion(),
            Units.count(application.executors(), "executor"),
            Units.count(application.hosts(), "host"),
            Units.count(application.tasks(), "task"),
            Units.time(findings.busyMs())));
    line("");
    line("VERDICT: " + Verdict.of(findings));
    notes.forEach(note -> line("NOTE: " + note));
    if (!findings.stages().isEmpty() && Verdict.isBounded(application.properties())) {
      table("Stages that read", reads(), stage -> isReading(stage.totals()), TextReport::read);
      table("Stages that write", writes(), stage -> stage.writer() != null, TextReport::write);
      memory(findings.memory());
      assumptions();
    }
    line("");
    return out.toString();
  }

  private static boolean isReading(StageTotals totals) {
    return totals.of(TaskMetric.REMOTE_BLOCKS) + totals.of(TaskMetric.LOCAL_BLOCKS) > 0;
  }

  /** @param row makes a row of stages, of which several make the last one */
  private void table(
      String title,
      List<String> head,
      Predicate<StageGain> which,
      Function<List<StageGain>, List<String>> row) {
    List<StageGain> stages = findings.stages().stream().filter(which).toList();
    List<List<String>> rows = new ArrayList<>(List.of(head));
    stages.stream().limit(ROWS).forEach(stage -> rows.add(row.apply(List.of(stage))));
    if (stages.size() > ROWS) {
      rows.add(row.apply(stages.subList(ROWS, stages.size())));
    }
    if (rows.size() == 1) {
      return;
    }
    int[] widths = new int[head.size()];
    rows.forEach(cells ->
        Arrays.setAll(widths, i -> Math.max(widths[i], cells.get(i).length())));
    line("");
    line(title + ", the one that can gain most first:");
    for (List<String> cells : rows) {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < widths.length - 1; i++) {
        text.append(" ".repeat(widths[i] - cells.get(i).length() + 2)).append(cells.get(i));
      }
      line(text.append("  ").append(cells.get(widths.length - 1)).toString());
    }
  }

  private static List<String> reads() {
    return List.of(
        "stage",
        "task time",
        "remote blocks",
        "bytes",
        "each",
        "local blocks",
        "bytes",
        "fetch wait",
        "of task time",
        "sorts",
        "saves at most",
        "name");
  }

  private static List<String> read(List<StageGain> parts) {
    long remote = sum(parts, TaskMetric.REMOTE_BLOCKS);
    double bytes = sum(parts, TaskMetric.REMOTE_BYTES);
    long wait = sum(parts, TaskMetric.FETCH_WAIT_MS);
    long run = sum(parts, TaskMetric.RUN_MS);
    return List.of(
        number(parts),
        Units.time(run),
        Units.count(remote),
        Units.bytes(bytes),
        remote == 0 ? "-" : Units.bytes(bytes / remote),
        Units.count(sum(parts, TaskMetric.LOCAL_BLOCKS)),
        Units.bytes(sum(parts, TaskMetric.LOCAL_BYTES)),
        Units.time(wait),
        run == 0 ? "-" : Units.percent(100.0 * wait / run),
        parts.stream().anyMatch(StageGain::sorts) ? "RDD keys" : "-",
        Units.time(parts.stream().mapToDouble(StageGain::readingMs).sum()),
        name(parts));
  }

  private static List<String> writes() {
    return List.of(
        "stage",
        "task time",
        "map outputs",
        "bytes",
        "write time",
        "partitions",
        "Spark's writer",
        "the plugin's",
        "saves at most",
        "name");
  }

  private static List<String> write(List<StageGain> parts) {
    return List.of(
        number(parts),
        Units.time(sum(parts, TaskMetric.RUN_MS)),
        Units.count(parts.stream().mapToLong(part -> part.totals().mapOutputs()).sum()),
        Units.bytes(sum(parts, TaskMetric.BYTES_WRITTEN)),
        Units.time(sum(parts, TaskMetric.WRITE_NS) / 1e6),
        each(parts, writer -> (writer.exact() ? "" : "up to ") + writer.partitions()),
        each(parts, writer -> writer.sparks().label),
        each(parts, writer -> switch (writer.plugins()) {
          case YES -> "takes it";
          case NO -> "leaves it";
          case UNKNOWN -> "may take it";
        }),
        Units.time(
            parts.stream().mapToDouble(part -> part.allMs() - part.readingMs()).sum()),
        name(parts));
  }

  private static String each(List<StageGain> parts, Function<WriterFinding, String> text) {
    WriterFinding writer = parts.get(0).writer();
    return parts.size() > 1 || writer == null ? "-" : text.apply(writer);
  }

  private static long sum(List<StageGain> parts, TaskMetric metric) {
    return parts.stream().mapToLong(part -> part.totals().of(metric)).sum();
  }

  private static String number(List<StageGain> parts) {
    return parts.size() == 1 ? parts.get(0).totals().key.toString() : parts.size() + " more";
  }

  private static String name(List<StageGain> parts) {
    String name = parts.size() > 1 ? "" : parts.get(0).totals().name();
    return name.length() <= NAME ? name : name.substring(0, NAME) + "…";
  }

  private void memory(@Nullable MemoryFinding memory) {
    if (memory == null) {
      return;
    }
    line("");
    String needed = "The two stages in a row that write most leave "
        + Units.bytes(memory.neededBytes()) + " of map outputs on an executor. ";
    if (memory.plan() == null) {
      line(needed
          + "What may be registered follows from the memory of the hosts, which the log does not tell: "
          + "set " + memory.key() + "=" + mib(memory.setBytes())
          + " or more, so that all of them are, and leave that much "
          + "of a host's memory to each executor.");
      return;
    }
    double share = memory.registeredShare();
    line(needed + "As the application was configured, a NIC would have "
        + Units.bytes(memory.plan().outputBytes())
        + " registered (" + memory.plan().reason() + "): " + Units.percent(100 * share)
        + " of their bytes would be registered and " + Units.percent(100 * (1 - share))
        + " staged. "
        + (share == 1
            ? "No more overhead is needed."
            : "Set " + memory.key() + "=" + mib(memory.setBytes())
                + " so that all of them are registered."));
  }

  private static String mib(long bytes) {
    return (bytes >> 20) + "m";
  }

  private void assumptions() {
    line("");
    line("What the upper bound assumes (docs/estimate.md has the sources):");
    List<String> each = List.of(
        "All of the fetch wait is saved, though it includes waits for disks and for busy hosts, which RDMA does not shorten.",
        "A remote block costs the CPUs of both hosts with TCP what docs/benchmarks.md has at most: 75 µs up to 16 KiB, 107 µs at"
            + " 64 KiB, 1.2 ms at 1 MiB; with a NIC 0.85 µs and 0.1 µs for each KiB, which is a model. All that CPU is taken to"
            + " come out of the tasks' time, as on hosts whose cores are all busy.",
        "A local block saves 19 µs, as on two executors of one host, though Spark's way may be as fast.",
        "Where the plugin's writer may take the map outputs, it saves the larger of their write time and of 130 µs for each"
            + " partition of each output and 1.4 ms for each MiB, or with Spark's serialized writer 17 µs, 0.5 ms and 0.3 µs for each"
            + " record. Rows are taken to shrink to a third by compression.",
        "A stage that sorts by an order of keys of the RDD API saves two thirds of its other time by the plugin's sorter, and the stage before"
            + " it a third, as benchmarks had it at most.",
        "All map outputs are registered. Staged ones save less of the transport's CPU.",
        "The plugin itself costs nothing: in fact 0.5 s of CPU on each executor when it starts, and some for each map output.");
    each.forEach(text -> line("  * " + text));
  }

  private void line(String text) {
    out.append(text).append('\n');
  }
}
