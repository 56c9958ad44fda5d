/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapOutputTrackerWorker;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.client.MapOutputLocation;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.location.MapOutputTrailer;
import org.shufflerdma.mapstatus.MapStatusCarrier;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import org.shufflerdma.metrics.TcpReason;
import scala.Option;

/**
 * The locations of the map outputs of each shuffle, read from the map statuses that Spark's tracker
 * holds on this executor. They are decoded once per array of statuses, and kept as long as that is: when
 * Spark fetches statuses anew (a new epoch), there is a new array. Safe for every task thread; ends with
 * its executor.
 */
public final class LocationTable {
  /** Locations by map index, and by map id for readers that ask for blocks by name. */
  static final class Shuffle {
    private static final Shuffle EMPTY = new Shuffle(new MapOutputLocation[0], Set.of());

    private final @Nullable MapOutputLocation[] byMapIndex;
    private final Set<Long> migrated;

    /** Made when it is asked for. Guarded by this. */
    private @Nullable Map<Long, MapOutputLocation> byMapId;

    private Shuffle(@Nullable MapOutputLocation[] byMapIndex, Set<Long> migrated) {
      this.byMapIndex = byMapIndex;
      this.migrated = migrated;
    }

    /** The location of the map output with this index, if it is still that of this map id. */
    @Nullable
    MapOutputLocation locationAt(int mapIndex, long mapId) {
      MapOutputLocation location = mapIndex < byMapIndex.length ? byMapIndex[mapIndex] : null;
      return location == null || location.descriptor().mapId() != mapId ? null : location;
    }

    /** The location of a map output; null if there is none, for which {@link #absenceOf} has the reason. */
    @Nullable
    synchronized MapOutputLocation locationOf(long mapId) {
      if (byMapId == null) {
        byMapId = Arrays.stream(byMapIndex)
            .filter(Objects::nonNull)
            .collect(Collectors.toMap(
                location -> location.descriptor().mapId(),
                Function.identity(),
                (one, other) -> other));
      }
      return byMapId.get(mapId);
    }

    /** Returns why {@link #locationOf} is null. */
    TcpReason absenceOf(long mapId) {
      return migrated.contains(mapId) ? TcpReason.MIGRATED : TcpReason.NO_LOCATION;
    }
  }

  private final MapOutputTracker tracker;
  /** An array equals itself alone, so the key is the array, not what it holds. */
  private final Map<@Nullable MapStatus[], Shuffle> decoded =
      Collections.synchronizedMap(new WeakHashMap<>());

  public LocationTable(MapOutputTracker tracker) {
    this.tracker = tracker;
  }

  /**
   * Returns the locations that the statuses of the tracker contain now. Ask the tracker for the block
   * sizes of the shuffle first, which makes it fetch the statuses.
   *
   * @param partitions number of partitions of the shuffle's partitioner
   */
  Shuffle locationsOf(int shuffleId, int partitions) {
    @Nullable MapStatus[] statuses = statusesOf(shuffleId);
    if (statuses == null) {
      return Shuffle.EMPTY;
    }
    return decoded.computeIfAbsent(statuses, known -> decode(known, shuffleId, partitions));
  }

  private MapStatus @Nullable [] statusesOf(int shuffleId) {
    if (!(tracker instanceof MapOutputTrackerWorker worker)) {
      return null; // the driver runs no remote reads
    }
    Option<MapStatus[]> statuses = worker.mapStatuses().get(shuffleId);
    return statuses.isDefined() ? statuses.get() : null;
  }

  static Shuffle decode(@Nullable MapStatus[] statuses, int shuffleId, int partitions) {
    Map<BlockManagerId, Optional<PeerId>> peers = new HashMap<>();
    Set<Long> migrated = new HashSet<>();
    @Nullable MapOutputLocation[] byMapIndex = new MapOutputLocation[statuses.length];
    for (int i = 0; i < statuses.length; i++) {
      MapStatus status = statuses[i];
      if (status == null) {
        continue;
      }
      Optional<MapOutputTrailer> trailer = MapStatusCarrier.read(status, partitions);
      Optional<PeerId> peer = peers.computeIfAbsent(status.location(), LocationTable::peerOf);
      boolean isRegistered = trailer.isPresent();
      if (peer.isPresent() && (!isRegistered || trailer.get().isOf(peer.get().executorId()))) {
        DescriptorRef descriptor = isRegistered
            ? new DescriptorRef(
                trailer.get().descriptorAddress(),
                trailer.get().descriptorRkey(),
                trailer.get().generation(),
                shuffleId,
                status.mapId(),
                partitions)
            : DescriptorRef.unregistered(shuffleId, status.mapId(), partitions);
        byMapIndex[i] = new MapOutputLocation(peer.get(), descriptor);
      } else if (isRegistered) {
        migrated.add(status.mapId());
      }
    }
    return new Shuffle(byMapIndex, migrated);
  }

  private static Optional<PeerId> peerOf(BlockManagerId holder) {
    return PublishedEndpoint.of(holder)
        .map(at -> new PeerId(
            holder.executorId(),
            new RdmaEndpoint(at.host(), at.port(), Nonce.ofHex(at.nonceHex()))));
  }
}
