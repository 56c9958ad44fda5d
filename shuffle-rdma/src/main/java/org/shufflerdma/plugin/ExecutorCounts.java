/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportStats;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;
import org.shufflerdma.writer.CommittedOutputPublisher;

/** All counts of one executor under one set of names, for the metrics system and the summary. */
final class ExecutorCounts {
  private final Map<String, LongSupplier> gauges = new LinkedHashMap<>();
  private final CommittedOutputPublisher publisher;

  ExecutorCounts(
      ReadCounters reads,
      RdmaTransport transport,
      MapOutputRegistry registry,
      CommittedOutputPublisher publisher) {
    this.publisher = publisher;
    for (Counter counter : Counter.values()) {
      gauges.put(counter.publicName(), () -> reads.get(counter));
    }
    for (String reason : FallbackReasons.all()) {
      gauges.put(ReadCounters.fallbackName(reason), () -> reads.fallbacks(reason));
    }
    TransportStats stats = transport.stats();
    gauges.put("reads.posted", stats.readsPosted::sum);
    gauges.put("reads.signalled", stats.readsSignalled::sum);
    gauges.put("reads.bytes", stats.readBytesCompleted::sum);
    gauges.put("connections.opened", stats.connectionsOpened::sum);
    gauges.put("connections.accepted", stats.connectionsAccepted::sum);
    gauges.put("connections.rejected", stats.connectionsRejected::sum);
    gauges.put("connections.failed", stats.connectionsFailed::sum);
    gauges.put("connections.reconnects", stats.reconnects::sum);
    gauges.put("outputs.published", registry::published);
    gauges.put("outputs.unpublished", this::unpublished);
    gauges.put("outputs.registeredBytes", registry::registeredBytes);
    gauges.put("pool.registeredBytes", () -> transport.buffers().usage().registeredBytes());
    gauges.put("pool.leasedBytes", () -> transport.buffers().usage().leasedBytes());
    gauges.put("pool.zombieBytes", () -> transport.buffers().usage().zombieBytes());
    gauges.put("pool.exhaustions", () -> transport.buffers().usage().exhaustions());
  }

  Map<String, LongSupplier> gauges() {
    return gauges;
  }

  private long unpublished() {
    return publisher.failures().values().stream().mapToLong(Long::longValue).sum();
  }

  /** Every count that is not 0, on one line. */
  String summary() {
    StringBuilder line = new StringBuilder();
    gauges.forEach((name, gauge) -> {
      long value = gauge.getAsLong();
      if (value != 0) {
        line.append(line.length() == 0 ? "" : " ").append(name).append('=').append(value);
      }
    });
    publisher
        .failures()
        .forEach((reason, count) ->
            line.append(" unpublished.").append(reason).append('=').append(count));
    return line.length() == 0 ? "nothing" : line.toString();
  }
}
