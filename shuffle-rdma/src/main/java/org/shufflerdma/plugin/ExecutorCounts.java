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
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;

/** All counts of one executor under their public names, for the metrics system and the summary. */
final class ExecutorCounts {
  /** The public name of {@link ReadCounters#hitPercent}. */
  static final String HIT_PERCENT = "shuffle.rdma.hitPercent";

  /**
   * A count of the executor itself rather than of its tasks. It exists if RDMA was started.
   *
   * @param meaning the sentence about this count in docs/metrics.md
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

    private static OfRdma unpublished(UnpublishedReason reason) {
      return new OfRdma(
          "shuffle.rdma.outputs.unpublished." + reason.label(),
          "outputs",
          "Map outputs that were committed but not published, because " + why(reason) + ".",
          rdma -> rdma.publisher().count(reason));
    }
  }

  private static String why(UnpublishedReason reason) {
    return switch (reason) {
      case BUDGET -> "the budget of registered bytes has no room for them";
      case REMOVED -> "their shuffle was removed while the task ran";
      case FILE_CHANGED -> "their file did not have the length of its partitions";
      case REGISTRATION -> "their file could not be mapped or registered";
      case CHECKSUMS -> "their checksums could not be read or computed";
      case CARRIER -> "their map status cannot carry a location";
      case CLOSED -> "the executor was stopping";
      case INTERNAL -> "of a defect in the plugin";
    };
  }

  static final List<OfRdma> OF_RDMA = Stream.concat(
          Stream.of(
              OfRdma.transport(
                  SharedCount.READS,
                  "READs",
                  "READs posted to the device.",
                  stats -> stats.readsPosted),
              OfRdma.transport(
                  "shuffle.rdma.reads.signalled",
                  "READs",
                  "READs that were posted with a request for a completion.",
                  stats -> stats.readsSignalled),
              OfRdma.transport(
                  SharedCount.CONNECTIONS,
                  "connections",
                  "Connections opened to peers.",
                  stats -> stats.connectionsOpened),
              OfRdma.transport(
                  "shuffle.rdma.connections.accepted",
                  "connections",
                  "Connections accepted from peers.",
                  stats -> stats.connectionsAccepted),
              OfRdma.transport(
                  "shuffle.rdma.connections.rejected",
                  "requests",
                  "Connection requests that the listener rejected.",
                  stats -> stats.connectionsRejected),
              OfRdma.transport(
                  "shuffle.rdma.connections.failed",
                  "connections",
                  "Connections to peers that broke.",
                  stats -> stats.connectionsFailed),
              OfRdma.transport(
                  "shuffle.rdma.connections.evicted",
                  "connections",
                  "Idle connections that were closed to make room for another peer's.",
                  stats -> stats.connectionsEvicted),
              OfRdma.transport(
                  "shuffle.rdma.connections.notDestroyed",
                  "queue pairs",
                  "Queue pairs that the device did not destroy. They keep their buffers.",
                  stats -> stats.queuePairsNotDestroyed),
              OfRdma.transport(
                  "shuffle.rdma.connections.replaced",
                  "connections",
                  "Connections opened to a peer that had had one before.",
                  stats -> stats.reconnects),
              OfRdma.transport(
                  "shuffle.rdma.connections.breakersOpened",
                  "times",
                  "How often a peer failed so often that its blocks went by TCP for a minute.",
                  stats -> stats.breakersOpened),
              OfRdma.transport(
                  "shuffle.rdma.completions.stale",
                  "completions",
                  "Completions that nothing waited for when they came.",
                  stats -> stats.staleCompletions),
              OfRdma.fetches(
                  "shuffle.rdma.descriptors.read",
                  "descriptors",
                  "Descriptors of map outputs that were read from peers.",
                  stats -> stats.descriptorsRead),
              OfRdma.fetches(
                  "shuffle.rdma.checksum.mismatches",
                  "blocks",
                  "Blocks whose checksum did not match. Their bytes were not delivered.",
                  stats -> stats.checksumMismatches),
              OfRdma.fetches(
                  "shuffle.rdma.retries",
                  "times",
                  "How often READs were repeated because their connection broke or their bytes were wrong.",
                  stats -> stats.retries),
              new OfRdma(
                  "shuffle.rdma.registeredBytes",
                  "bytes",
                  "Bytes that are registered: map outputs, their descriptors and fetch buffers.",
                  RdmaStack::registeredBytes),
              new OfRdma(
                  "shuffle.rdma.pinnedBytes",
                  "bytes",
                  "Bytes that are registered and pinned; 0 if the device does not pin memory.",
                  rdma -> rdma.pins() ? rdma.registeredBytes() : 0),
              OfRdma.outputs(
                  "published",
                  "outputs",
                  "Map outputs published, including those that had to wait for room.",
                  MapOutputRegistry::published),
              OfRdma.outputs(
                  "waiting",
                  "outputs",
                  "Published map outputs that wait for room.",
                  MapOutputRegistry::waiting),
              OfRdma.outputs(
                  "deletedBytes",
                  "bytes",
                  "Bytes of files that Spark has deleted and that stay on the disk because they are still mapped.",
                  MapOutputRegistry::deletedBytes),
              OfRdma.outputs(
                  "withdrawn",
                  "outputs",
                  "Map outputs withdrawn to make room for others.",
                  MapOutputRegistry::withdrawnForRoom),
              OfRdma.outputs(
                  "registeredBytes",
                  "bytes",
                  "Bytes of map outputs that are registered.",
                  MapOutputRegistry::registeredBytes),
              OfRdma.pool(
                  "registeredBytes",
                  "bytes",
                  "Bytes of fetch buffers that are registered.",
                  PoolUsage::registeredBytes),
              OfRdma.pool(
                  "leasedBytes",
                  "bytes",
                  "Bytes of fetch buffers that are in use.",
                  PoolUsage::leasedBytes),
              OfRdma.pool(
                  "zombieBytes",
                  "bytes",
                  "Bytes of fetch buffers in use that no task waits for, but that a READ may still write to.",
                  PoolUsage::zombieBytes),
              OfRdma.pool(
                  "exhaustions",
                  "times",
                  "How often no fetch buffer became free within a second.",
                  PoolUsage::exhaustions)),
          Arrays.stream(UnpublishedReason.values()).map(OfRdma::unpublished))
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
