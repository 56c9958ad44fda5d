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
import org.shufflerdma.memory.PoolUsage;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;
import org.shufflerdma.writer.CommittedOutputPublisher.Trouble;

/** All counts of one executor under one set of names, for the metrics system and the summary. */
final class ExecutorCounts {
  /** Of {@link ReadCounters#hitPercent}. */
  static final String HIT_PERCENT = "shuffle.rdma.hitPercent";

  /**
   * A count that an executor has beside those of its tasks, if RDMA could be started on it.
   *
   * @param meaning for docs/metrics.md
   */
  record OfRdma(String name, String unit, String meaning, ToLongFunction<RdmaStack> value) {
    private static OfRdma transport(
        String name, String unit, String meaning, Function<TransportStats, LongAdder> adder) {
      return new OfRdma(
          name, unit, meaning, rdma -> adder.apply(rdma.transport().stats()).sum());
    }

    private static OfRdma fetches(
        String name, String unit, String meaning, Function<FetchStats, LongAdder> adder) {
      return new OfRdma(
          name,
          unit,
          meaning,
          rdma -> adder.apply(rdma.source().fetcher().stats()).sum());
    }

    private static OfRdma outputs(
        String name, String unit, String meaning, ToLongFunction<MapOutputRegistry> value) {
      return new OfRdma(
          "shuffle.rdma.outputs." + name,
          unit,
          meaning,
          rdma -> value.applyAsLong(rdma.registry()));
    }

    private static OfRdma pool(
        String name, String unit, String meaning, ToLongFunction<PoolUsage> value) {
      return new OfRdma(
          "shuffle.rdma.pool." + name,
          unit,
          meaning,
          rdma -> value.applyAsLong(rdma.transport().buffers().usage()));
    }

    private static OfRdma unpublished(Trouble trouble) {
      return new OfRdma(
          "shuffle.rdma.outputs.unpublished." + trouble.label(),
          "outputs",
          "committed, and not published: [reliability.md](reliability.md)",
          rdma -> rdma.publisher().count(trouble));
    }
  }

  static final List<OfRdma> OF_RDMA = Stream.concat(
          Stream.of(
              OfRdma.transport(
                  SharedCount.READS, "READs", "posted to the device", stats -> stats.readsPosted),
              OfRdma.transport(
                  "shuffle.rdma.reads.signalled",
                  "READs",
                  "of those, the ones that a completion was asked for",
                  stats -> stats.readsSignalled),
              OfRdma.transport(
                  SharedCount.CONNECTIONS,
                  "connections",
                  "opened to peers",
                  stats -> stats.connectionsOpened),
              OfRdma.transport(
                  "shuffle.rdma.connections.accepted",
                  "connections",
                  "accepted from peers",
                  stats -> stats.connectionsAccepted),
              OfRdma.transport(
                  "shuffle.rdma.connections.rejected",
                  "requests",
                  "of peers, or strangers, that were not let in",
                  stats -> stats.connectionsRejected),
              OfRdma.transport(
                  "shuffle.rdma.connections.failed",
                  "connections",
                  "to peers that broke",
                  stats -> stats.connectionsFailed),
              OfRdma.transport(
                  "shuffle.rdma.connections.evicted",
                  "connections",
                  "idle ones that made room for another peer's",
                  stats -> stats.connectionsEvicted),
              OfRdma.transport(
                  "shuffle.rdma.connections.notDestroyed",
                  "queue pairs",
                  "that the device did not destroy; they keep their buffers",
                  stats -> stats.queuePairsNotDestroyed),
              OfRdma.transport(
                  "shuffle.rdma.connections.replaced",
                  "connections",
                  "opened to a peer that had had one before",
                  stats -> stats.reconnects),
              OfRdma.transport(
                  "shuffle.rdma.connections.breakersOpened",
                  "times",
                  "a peer was left alone for a minute, having failed often",
                  stats -> stats.breakersOpened),
              OfRdma.transport(
                  "shuffle.rdma.completions.stale",
                  "completions",
                  "that belonged to nothing any more",
                  stats -> stats.staleCompletions),
              OfRdma.fetches(
                  "shuffle.rdma.descriptors.read",
                  "descriptors",
                  "of map outputs that were read of peers",
                  stats -> stats.descriptorsRead),
              OfRdma.fetches(
                  "shuffle.rdma.checksum.mismatches",
                  "blocks",
                  "read with other bytes than were written, and not delivered",
                  stats -> stats.checksumMismatches),
              OfRdma.fetches(
                  "shuffle.rdma.retries",
                  "times",
                  "READs were done over, as their connection broke or bytes were wrong",
                  stats -> stats.retries),
              new OfRdma(
                  "shuffle.rdma.registeredBytes",
                  "bytes",
                  "registered now: map outputs, their descriptors, fetch buffers",
                  RdmaStack::registeredBytes),
              new OfRdma(
                  "shuffle.rdma.pinnedBytes",
                  "bytes",
                  "the same where the device pins memory, else 0",
                  rdma -> rdma.pins() ? rdma.registeredBytes() : 0),
              OfRdma.outputs(
                  "published",
                  "outputs",
                  "of map tasks announced so far, whether there was room at once or not",
                  MapOutputRegistry::published),
              OfRdma.outputs(
                  "waiting", "outputs", "that wait for room now", MapOutputRegistry::waiting),
              OfRdma.outputs(
                  "deletedBytes",
                  "bytes",
                  "mapped of files that Spark has deleted, and still on the disk",
                  MapOutputRegistry::deletedBytes),
              OfRdma.outputs(
                  "withdrawn",
                  "outputs",
                  "withdrawn so far to make room for others",
                  MapOutputRegistry::withdrawnForRoom),
              OfRdma.outputs(
                  "registeredBytes",
                  "bytes",
                  "of map outputs registered now",
                  MapOutputRegistry::registeredBytes),
              OfRdma.pool(
                  "registeredBytes",
                  "bytes",
                  "of fetch buffers registered now",
                  PoolUsage::registeredBytes),
              OfRdma.pool(
                  "leasedBytes", "bytes", "of fetch buffers in use now", PoolUsage::leasedBytes),
              OfRdma.pool(
                  "zombieBytes",
                  "bytes",
                  "of those, the ones that nobody waits for and a READ may still write to",
                  PoolUsage::zombieBytes),
              OfRdma.pool(
                  "exhaustions",
                  "times",
                  "no fetch buffer was free within a second",
                  PoolUsage::exhaustions)),
          Arrays.stream(Trouble.values()).map(OfRdma::unpublished))
      .toList();

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
      OF_RDMA.forEach(count -> gauges.put(count.name(), () -> count.value().applyAsLong(rdma)));
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
