/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.TransportStats;
import org.shufflerdma.fetch.FetchStats;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.UnpublishedReason;
import org.shufflerdma.memory.PoolUsage;
import org.shufflerdma.metrics.ReadCount;
import org.shufflerdma.metrics.ReadCounters;

/**
 * All counts of one executor under their public names, for the metrics system and the summary.
 * docs/metrics.md says what each one counts.
 */
final class ExecutorCounts {
  /** The public name of {@link ReadCounters#hitPercent}. */
  static final String HIT_PERCENT = "shuffle.rdma.hitPercent";

  /** A count of the executor itself rather than of its tasks. It exists if RDMA was started. */
  record OfRdma(String name, ToLongFunction<RdmaStack> value) {}

  static final List<OfRdma> OF_RDMA = Stream.concat(
          Stream.of(
              transport(SharedCount.READS, stats -> stats.readsPosted),
              transport("shuffle.rdma.reads.signalled", stats -> stats.readsSignalled),
              transport(SharedCount.CONNECTIONS, stats -> stats.connectionsOpened),
              transport("shuffle.rdma.connections.accepted", stats -> stats.connectionsAccepted),
              transport("shuffle.rdma.connections.rejected", stats -> stats.connectionsRejected),
              transport("shuffle.rdma.connections.failed", stats -> stats.connectionsFailed),
              transport("shuffle.rdma.connections.evicted", stats -> stats.connectionsEvicted),
              transport(
                  "shuffle.rdma.connections.notDestroyed", stats -> stats.queuePairsNotDestroyed),
              transport("shuffle.rdma.connections.replaced", stats -> stats.reconnects),
              transport("shuffle.rdma.connections.breakersOpened", stats -> stats.breakersOpened),
              transport("shuffle.rdma.completions.stale", stats -> stats.staleCompletions),
              fetches("shuffle.rdma.descriptors.read", stats -> stats.descriptorsRead),
              fetches("shuffle.rdma.checksum.mismatches", stats -> stats.checksumMismatches),
              fetches("shuffle.rdma.retries", stats -> stats.retries),
              new OfRdma("shuffle.rdma.registeredBytes", RdmaStack::registeredBytes),
              new OfRdma(
                  "shuffle.rdma.pinnedBytes", rdma -> rdma.pins() ? rdma.registeredBytes() : 0),
              outputs("published", MapOutputRegistry::published),
              outputs("waiting", MapOutputRegistry::waiting),
              outputs("deletedBytes", MapOutputRegistry::deletedBytes),
              outputs("withdrawn", MapOutputRegistry::withdrawnForRoom),
              outputs("registeredBytes", MapOutputRegistry::registeredBytes),
              pool("registeredBytes", PoolUsage::registeredBytes),
              pool("leasedBytes", PoolUsage::leasedBytes),
              pool("zombieBytes", PoolUsage::zombieBytes),
              pool("exhaustions", PoolUsage::exhaustions)),
          Arrays.stream(UnpublishedReason.values()).map(ExecutorCounts::unpublished))
      .toList();

  private static OfRdma transport(String name, Function<TransportStats, LongAdder> adder) {
    return new OfRdma(name, rdma -> adder.apply(rdma.transport().stats()).sum());
  }

  private static OfRdma fetches(String name, Function<FetchStats, LongAdder> adder) {
    return new OfRdma(name, rdma -> adder.apply(rdma.source().fetcher().stats()).sum());
  }

  private static OfRdma outputs(String name, ToLongFunction<MapOutputRegistry> value) {
    return new OfRdma("shuffle.rdma.outputs." + name, rdma -> value.applyAsLong(rdma.registry()));
  }

  private static OfRdma pool(String name, ToLongFunction<PoolUsage> value) {
    return new OfRdma(
        "shuffle.rdma.pool." + name,
        rdma -> value.applyAsLong(rdma.transport().buffers().usage()));
  }

  private static OfRdma unpublished(UnpublishedReason reason) {
    return new OfRdma(
        "shuffle.rdma.outputs.unpublished." + reason.label(),
        rdma -> rdma.publisher().count(reason));
  }

  private final Map<String, LongSupplier> gauges = new LinkedHashMap<>();

  ExecutorCounts(ReadCounters reads, @Nullable RdmaStack rdma) {
    ReadCount.ALL.forEach(count -> gauges.put(count.publicName(), () -> reads.get(count)));
    if (rdma != null) {
      gauges.put(HIT_PERCENT, reads::hitPercent);
      OF_RDMA.forEach(count -> gauges.put(count.name(), () -> count.value().applyAsLong(rdma)));
    }
  }

  Map<String, LongSupplier> gauges() {
    return gauges;
  }

  /** Returns every count that is not 0, on one line. */
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
