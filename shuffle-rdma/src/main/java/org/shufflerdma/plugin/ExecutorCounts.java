/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.TransportStats;
import org.shufflerdma.fetch.FetchStats;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.memory.BufferPool;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;
import org.shufflerdma.writer.CommittedOutputPublisher;

/** All counts of one executor under one set of names, for the metrics system and the summary. */
final class ExecutorCounts {
  /** Of {@link ReadCounters#hitPercent}. */
  static final String HIT_PERCENT = "shuffle.rdma.hitPercent";

  private final Map<String, LongSupplier> gauges = new LinkedHashMap<>();

  ExecutorCounts(ReadCounters reads, @Nullable RdmaStack rdma) {
    for (Counter counter : Counter.values()) {
      gauges.put(counter.publicName(), () -> reads.get(counter));
    }
    for (String reason : FallbackReasons.all()) {
      gauges.put(ReadCounters.fallbackName(reason), () -> reads.fallbacks(reason));
    }
    if (rdma != null) {
      gauges.put(HIT_PERCENT, reads::hitPercent);
      addTransport(rdma.transport().stats());
      addFetches(rdma.source().fetcher().stats());
      addMemory(rdma);
      addUnpublished(rdma.publisher());
    }
  }

  private void addTransport(TransportStats stats) {
    gauges.put(SharedCount.READS, stats.readsPosted::sum);
    gauges.put("shuffle.rdma.reads.signalled", stats.readsSignalled::sum);
    gauges.put(SharedCount.CONNECTIONS, stats.connectionsOpened::sum);
    gauges.put("shuffle.rdma.connections.accepted", stats.connectionsAccepted::sum);
    gauges.put("shuffle.rdma.connections.rejected", stats.connectionsRejected::sum);
    gauges.put("shuffle.rdma.connections.failed", stats.connectionsFailed::sum);
    gauges.put("shuffle.rdma.connections.evicted", stats.connectionsEvicted::sum);
    gauges.put("shuffle.rdma.connections.notDestroyed", stats.queuePairsNotDestroyed::sum);
    gauges.put("shuffle.rdma.connections.replaced", stats.reconnects::sum);
    gauges.put("shuffle.rdma.connections.breakersOpened", stats.breakersOpened::sum);
    gauges.put("shuffle.rdma.completions.stale", stats.staleCompletions::sum);
  }

  private void addFetches(FetchStats stats) {
    gauges.put("shuffle.rdma.descriptors.read", stats.descriptorsRead::sum);
    gauges.put("shuffle.rdma.checksum.mismatches", stats.checksumMismatches::sum);
    gauges.put("shuffle.rdma.retries", stats.retries::sum);
  }

  private void addMemory(RdmaStack rdma) {
    MapOutputRegistry registry = rdma.registry();
    BufferPool pool = rdma.transport().buffers();
    gauges.put("shuffle.rdma.registeredBytes", rdma::registeredBytes);
    gauges.put("shuffle.rdma.pinnedBytes", () -> rdma.pins() ? rdma.registeredBytes() : 0);
    gauges.put("shuffle.rdma.outputs.published", registry::published);
    gauges.put("shuffle.rdma.outputs.waiting", registry::waiting);
    gauges.put("shuffle.rdma.outputs.deletedBytes", registry::deletedBytes);
    gauges.put("shuffle.rdma.outputs.withdrawn", registry::withdrawnForRoom);
    gauges.put("shuffle.rdma.outputs.registeredBytes", registry::registeredBytes);
    gauges.put("shuffle.rdma.pool.registeredBytes", () -> pool.usage().registeredBytes());
    gauges.put("shuffle.rdma.pool.leasedBytes", () -> pool.usage().leasedBytes());
    gauges.put("shuffle.rdma.pool.zombieBytes", () -> pool.usage().zombieBytes());
    gauges.put("shuffle.rdma.pool.exhaustions", () -> pool.usage().exhaustions());
  }

  private void addUnpublished(CommittedOutputPublisher publisher) {
    for (CommittedOutputPublisher.Trouble trouble : CommittedOutputPublisher.Trouble.values()) {
      gauges.put(
          "shuffle.rdma.outputs.unpublished." + trouble.label(), () -> publisher.count(trouble));
    }
  }

  Map<String, LongSupplier> gauges() {
    return gauges;
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
    return line.length() == 0 ? "none" : line.toString();
  }
}
