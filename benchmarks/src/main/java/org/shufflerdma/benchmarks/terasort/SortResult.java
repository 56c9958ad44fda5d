/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.terasort;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One sort: what came out, by which way its bytes went, and how long it took.
 *
 * @param orphans whether its maps were read again when their executors had gone
 */
record SortResult(
    ShuffleKind shuffle,
    Orphans orphans,
    Validation.Outcome outcome,
    ShuffleTotals totals,
    Map<String, Long> shuffleCounters,
    int executors,
    int stageAttempts,
    long sortMs,
    Map<String, Long> stageMs) {
  private static final double LEAST_RDMA_SHARE = 0.4;
  private static final String NODE_SERVICE_BYTES = "nodeService.bytes";

  boolean valid() {
    return outcome.error() == null;
  }

  /** Returns why an RDMA sort did not run over RDMA as it should, or null if it did. */
  @Nullable
  String wrongPath() {
    if (shuffle != ShuffleKind.RDMA) {
      return null;
    }
    if (totals.rdmaBytes() + totals.tcpBytes() != totals.sparkRemoteBytes()) {
      return "rdma_bytes + tcp_bytes is %d, but Spark counted %d remote bytes"
          .formatted(totals.rdmaBytes() + totals.tcpBytes(), totals.sparkRemoteBytes());
    }
    if (orphans == Orphans.RDMA && nodeServiceBytes() == 0) {
      return "no bytes came from the node services; see their logs, and those of the executors";
    }
    if (orphans == Orphans.TCP) {
      return totals.rdmaBytes() > 0 && totals.tcpBytes() > 0
          ? null
          : "%d bytes came by RDMA from living executors and %d by TCP of those that had gone"
              .formatted(totals.rdmaBytes(), totals.tcpBytes());
    }
    if (totals.tcpBytes() != 0) {
      return "%d bytes came by TCP; see fallbacks in the JSON and the executors' logs"
          .formatted(totals.tcpBytes());
    }
    if (executors > 1 && totals.rdmaBytes() < LEAST_RDMA_SHARE * totals.read()) {
      return "only %d of %d shuffle bytes came by RDMA"
          .formatted(totals.rdmaBytes(), totals.read());
    }
    return null;
  }

  private long nodeServiceBytes() {
    return shuffleCounters.getOrDefault(NODE_SERVICE_BYTES, 0L);
  }

  String line() {
    @Nullable String error = outcome.error();
    return String.format(
        Locale.ROOT,
        "terasort: %s records=%d bytes=%d checksum=%s rdma_bytes=%d tcp_bytes=%d local_bytes=%d%s"
            + " seconds=%.1f%s",
        valid() ? "valid" : "invalid",
        outcome.records(),
        Math.multiplyExact(outcome.records(), (long) TeraSortOptions.RECORD_BYTES),
        outcome.checksum(),
        totals.rdmaBytes(),
        totals.tcpBytes(),
        totals.sparkLocalBytes(),
        orphans == Orphans.RDMA ? " node_service_bytes=" + nodeServiceBytes() : "",
        sortMs / 1e3,
        error == null ? "" : " reason=" + error);
  }

  /** Returns what a person wants to know of several sorts. */
  static String comparison(List<SortResult> results) {
    return results.stream()
        .map(result ->
            String.format(Locale.ROOT, "%s %.1f s", result.shuffle.title(), result.sortMs / 1e3))
        .collect(Collectors.joining(", "));
  }

  Map<String, @Nullable Object> json() {
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("shuffle", shuffle.label());
    json.put("valid", valid());
    json.put("reason", outcome.error());
    json.put("records", outcome.records());
    json.put("bytes", Math.multiplyExact(outcome.records(), (long) TeraSortOptions.RECORD_BYTES));
    json.put("checksum", outcome.checksum());
    json.put("rdma_bytes", totals.rdmaBytes());
    json.put("tcp_bytes", totals.tcpBytes());
    json.put("local_bytes", totals.sparkLocalBytes());
    json.put("spark_remote_bytes", totals.sparkRemoteBytes());
    json.put("wrong_path", wrongPath());
    json.put("seconds", sortMs / 1e3);
    json.put("executors", executors);
    json.put("stage_attempts", stageAttempts);
    json.put("stage_ms", stageMs);
    json.put("counters", shuffleCounters);
    return json;
  }
}
