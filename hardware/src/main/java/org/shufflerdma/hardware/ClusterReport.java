/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.hardware.Diagnosis.Found;
import org.shufflerdma.hardware.WayMeasurement.Failure;
import org.shufflerdma.hardware.WayMeasurement.InForce;
import org.shufflerdma.hardware.WayMeasurement.Speed;

/**
 * The report on a cluster: tables of hosts and ways and the verdict for people, and all that is known as JSON for programs. Unlike that of
 * {@link VerifyHardware} it names hosts and addresses.
 */
public record ClusterReport(List<Examined> hosts, List<Way> ways, Diagnosis diagnosis) {
  private static final String NOTHING = "-";

  public String text() {
    StringBuilder out = new StringBuilder();
    table(out, "hosts", hostRows());
    if (!ways.isEmpty()) {
      out.append('\n');
      table(
          out,
          "ways, from reader to the one that is read: 4 KiB one at a time, and 1 MiB 8 at a time",
          wayRows());
    }
    out.append("\nverdict\n");
    diagnosis.faults().forEach(found -> append(out, "FAULT", found));
    diagnosis.notes().forEach(found -> append(out, "note", found));
    out.append("  ").append(verdict()).append('\n');
    return out.toString();
  }

  private String verdict() {
    long served = ways.stream().filter(way -> !way.failed()).count();
    int faults = diagnosis.faults().size();
    return (faults == 0
            ? "RDMA would serve everywhere: "
            : faults + (faults == 1 ? " fault: " : " faults: "))
        + hosts.size() + " hosts examined, RDMA serves on " + served + " of " + ways.size()
        + " ways";
  }

  private static void append(StringBuilder out, String kind, Found found) {
    out.append("  ").append(kind).append(' ').append(found.where()).append(": ");
    out.append(found.fault().what()).append('\n');
    out.append("    mend: ").append(found.fault().mend()).append('\n');
  }

  private List<List<String>> hostRows() {
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of(
        "host", "executor", "device", "address", "MTU", "clock ms", "kernel", "locked memory"));
    for (Examined host : hosts) {
      HostExam exam = host.exam();
      rows.add(List.of(
          host.name(),
          host.executorId(),
          exam == null || exam.device() == null ? NOTHING : exam.device(),
          exam == null || exam.address().isEmpty() ? NOTHING : exam.address(),
          exam == null || exam.mtuBytes() == 0 ? NOTHING : Integer.toString(exam.mtuBytes()),
          exam == null ? NOTHING : String.format(Locale.ROOT, "%+.1f", host.clockAheadMs()),
          exam == null ? NOTHING : exam.fact("kernel"),
          exam == null ? NOTHING : exam.fact("locked memory")));
    }
    return rows;
  }

  private List<List<String>> wayRows() {
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of(
        "from",
        "to",
        "connect ms",
        "READ p50 us",
        "p99 us",
        "MB/s",
        "TCP p50 us",
        "p99 us",
        "MB/s",
        "MTU",
        "ToS",
        ""));
    for (Way way : ways) {
      WayMeasurement of = way.measured();
      InForce inForce = of.attributes();
      Failure failure = of.failure();
      rows.add(List.of(
          way.from(),
          way.to(),
          of.connectMs() == 0 ? NOTHING : Samples.number(of.connectMs()),
          cell(of.small(), Speed::p50Us),
          cell(of.small(), Speed::p99Us),
          cell(of.large(), Speed::mbPerS),
          cell(of.tcpSmall(), Speed::p50Us),
          cell(of.tcpSmall(), Speed::p99Us),
          cell(of.tcpLarge(), Speed::mbPerS),
          inForce == null ? NOTHING : Integer.toString(inForce.mtuBytes()),
          inForce == null ? NOTHING : Integer.toString(inForce.trafficClass()),
          failure == null ? "good" : "FAILED: " + failure.stage()));
    }
    return rows;
  }

  private static String cell(@Nullable Speed speed, ToDoubleFunction<Speed> figure) {
    return speed == null ? NOTHING : Samples.number(figure.applyAsDouble(speed));
  }

  private static void table(StringBuilder out, String name, List<List<String>> rows) {
    int[] widths = new int[rows.get(0).size()];
    for (List<String> row : rows) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    out.append(name).append('\n');
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder("  ");
      for (int i = 0; i < widths.length; i++) {
        line.append(row.get(i)).append(" ".repeat(widths[i] - row.get(i).length() + 2));
      }
      out.append(line.toString().stripTrailing()).append('\n');
    }
  }

  public String json() {
    return Json.of(Json.object(
        "time", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(),
        "good", diagnosis.faults().isEmpty(),
        "faults", diagnosis.faults().stream().map(ClusterReport::json).toList(),
        "notes", diagnosis.notes().stream().map(ClusterReport::json).toList(),
        "hosts", hosts.stream().map(ClusterReport::json).toList(),
        "ways", ways.stream().map(ClusterReport::json).toList()));
  }

  private static Map<String, Object> json(Found found) {
    return Json.object(
        "where",
        found.where(),
        "what",
        found.fault().what(),
        "mend",
        found.fault().mend());
  }

  private static Map<String, Object> json(Examined host) {
    Map<String, Object> json =
        Json.object("host", host.name(), "executor", host.executorId(), "lost", host.lost());
    HostExam exam = host.exam();
    if (exam != null) {
      json.putAll(Json.object(
          "device", String.valueOf(exam.device()),
          "address", exam.address(),
          "interface", exam.netInterface(),
          "interface_mtu", exam.mtuBytes(),
          "clock_ahead_ms", host.clockAheadMs(),
          "clock_error_ms", host.clockErrorMs(),
          "facts", exam.facts(),
          "counters_before", exam.counters(),
          "counters_risen", host.countersRisen()));
    }
    return json;
  }

  private static Map<String, Object> json(Way way) {
    WayMeasurement of = way.measured();
    InForce inForce = of.attributes();
    Failure failure = of.failure();
    return Json.object(
        "from", way.from(),
        "to", way.to(),
        "failed", failure == null ? null : failure.stage().toString(),
        "reason", failure == null ? null : failure.text(),
        "attributes", inForce == null ? null : inForce.json(),
        "connect_ms", of.connectMs(),
        "read_4k", json(of.small()),
        "read_1m", json(of.large()),
        "tcp_4k", json(of.tcpSmall()),
        "tcp_1m", json(of.tcpLarge()),
        "tcp_failed", of.tcpFailure());
  }

  private static @Nullable Object json(@Nullable Speed speed) {
    return speed == null ? null : speed.json();
  }
}
