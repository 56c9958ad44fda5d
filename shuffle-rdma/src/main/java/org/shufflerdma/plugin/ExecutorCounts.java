/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.TransportStats;
import org.shufflerdma.fetch.read.FetchStats;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.UnpublishedReason;
import org.shufflerdma.memory.BufferPool;
import org.shufflerdma.metrics.ReadCount;
import org.shufflerdma.metrics.ReadCounters;

/**
 * All counts of one executor under their public names, for the metrics system and the summary.
 * docs/metrics.md says what each one counts.
 */
final class ExecutorCounts {
  /** The public name of {@link ReadCounters#hitPercent}. */
  static final String HIT_PERCENT = "shuffle.rdma.hitPercent";

  /**
   * A count of the executor itself rather than of its tasks. It exists if RDMA was started. The switch
   * spares each new executor the lambdas that would stand in its place.
   */
  private enum OfRdma {
    RAIL("shuffle.rdma.rail"),
    READS("shuffle.rdma.reads"),
    SIGNALLED("shuffle.rdma.reads.signalled"),
    CONNECTIONS("shuffle.rdma.connections"),
    ACCEPTED("shuffle.rdma.connections.accepted"),
    REJECTED("shuffle.rdma.connections.rejected"),
    FAILED("shuffle.rdma.connections.failed"),
    EVICTED("shuffle.rdma.connections.evicted"),
    NOT_DESTROYED("shuffle.rdma.connections.notDestroyed"),
    REPLACED("shuffle.rdma.connections.replaced"),
    BREAKERS_OPENED("shuffle.rdma.connections.breakersOpened"),
    STALE("shuffle.rdma.completions.stale"),
    DESCRIPTORS_READ("shuffle.rdma.descriptors.read"),
    CHECKSUM_MISMATCHES("shuffle.rdma.checksum.mismatches"),
    RETRIES("shuffle.rdma.retries"),
    REGISTERED_BYTES("shuffle.rdma.registeredBytes"),
    PINNED_BYTES("shuffle.rdma.pinnedBytes"),
    MAX_REGISTERED_BYTES("shuffle.rdma.maxRegisteredBytes"),
    QUEUE_BYTES("shuffle.rdma.queueBytes"),
    PUBLISHED("shuffle.rdma.outputs.published"),
    DELETED_BYTES("shuffle.rdma.outputs.deletedBytes"),
    OUTPUT_BYTES("shuffle.rdma.outputs.registeredBytes"),
    STAGING_REGISTERED("shuffle.rdma.staging.registeredBytes"),
    STAGING_REQUESTS("shuffle.rdma.staging.requests"),
    STAGING_BYTES("shuffle.rdma.staging.bytes"),
    STAGING_REFUSED("shuffle.rdma.staging.refused"),
    STAGING_WAITED("shuffle.rdma.staging.waited"),
    STAGING_OVERDUE("shuffle.rdma.staging.overdue"),
    POOL_BYTES("shuffle.rdma.pool.registeredBytes"),
    POOL_LEASED("shuffle.rdma.pool.leasedBytes"),
    POOL_ZOMBIES("shuffle.rdma.pool.zombieBytes"),
    POOL_EXHAUSTIONS("shuffle.rdma.pool.exhaustions");

    private final String publicName;

    OfRdma(String publicName) {
      this.publicName = publicName;
    }

    long value(RdmaStack rdma) {
      TransportStats transport = rdma.transport().stats();
      FetchStats fetches = rdma.source().fetcher().stats();
      MapOutputRegistry outputs = rdma.registry();
      BufferPool pool = rdma.transport().buffers();
      return switch (this) {
        case RAIL -> rdma.rail();
        case READS -> transport.readsPosted.sum();
        case SIGNALLED -> transport.readsSignalled.sum();
        case CONNECTIONS -> transport.connectionsOpened.sum();
        case ACCEPTED -> transport.connectionsAccepted.sum();
        case REJECTED -> transport.connectionsRejected.sum();
        case FAILED -> transport.connectionsFailed.sum();
        case EVICTED -> transport.connectionsEvicted.sum();
        case NOT_DESTROYED -> transport.queuePairsNotDestroyed.sum();
        case REPLACED -> transport.reconnects.sum();
        case BREAKERS_OPENED -> transport.breakersOpened.sum();
        case STALE -> transport.staleCompletions.sum();
        case DESCRIPTORS_READ -> fetches.descriptorsRead.sum();
        case CHECKSUM_MISMATCHES -> fetches.checksumMismatches.sum();
        case RETRIES -> fetches.retries.sum();
        case REGISTERED_BYTES -> rdma.registeredBytes();
        case PINNED_BYTES -> rdma.pinnedBytes();
        case MAX_REGISTERED_BYTES -> rdma.plan().maxRegisteredBytes();
        case QUEUE_BYTES -> rdma.transport().queueBytes();
        case PUBLISHED -> outputs.published();
        case DELETED_BYTES -> outputs.deletedBytes();
        case OUTPUT_BYTES -> outputs.registeredBytes();
        case STAGING_REGISTERED -> rdma.staging().registeredBytes();
        case STAGING_REQUESTS -> rdma.staging().stats().requests.sum();
        case STAGING_BYTES -> rdma.staging().stats().bytesStaged.sum();
        case STAGING_REFUSED -> rdma.staging().stats().rangesRefused.sum();
        case STAGING_WAITED -> rdma.staging().stats().requestsWaited.sum();
        case STAGING_OVERDUE -> rdma.staging().stats().loansOverdue.sum();
        case POOL_BYTES -> pool.usage().registeredBytes();
        case POOL_LEASED -> pool.usage().leasedBytes();
        case POOL_ZOMBIES -> pool.usage().zombieBytes();
        case POOL_EXHAUSTIONS -> pool.usage().exhaustions();
      };
    }
  }

  /** The names of the counts that exist if RDMA was started, in the order of docs/metrics.md. */
  static List<String> namesOfRdma() {
    List<String> names = new ArrayList<>();
    for (OfRdma count : OfRdma.values()) {
      names.add(count.publicName);
    }
    for (UnpublishedReason reason : UnpublishedReason.values()) {
      names.add(nameOf(reason));
    }
    return names;
  }

  static String nameOf(UnpublishedReason reason) {
    return "shuffle.rdma.outputs.unpublished." + reason.label();
  }

  private final Map<String, LongSupplier> gauges = new LinkedHashMap<>();

  ExecutorCounts(ReadCounters reads, @Nullable RdmaStack rdma) {
    ReadCount.ALL.forEach(count -> gauges.put(count.publicName(), () -> reads.get(count)));
    if (rdma != null) {
      gauges.put(HIT_PERCENT, reads::hitPercent);
      for (OfRdma count : OfRdma.values()) {
        gauges.put(count.publicName, () -> count.value(rdma));
      }
      for (UnpublishedReason reason : UnpublishedReason.values()) {
        gauges.put(nameOf(reason), () -> rdma.publisher().count(reason));
      }
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
