/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapOutputTrackerWorker;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.fetch.DescriptorRef;
import org.shufflerdma.location.MapOutputTrailer;
import org.shufflerdma.mapstatus.MapStatusCarrier;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import org.shufflerdma.metrics.TcpReason;
import scala.Option;

/**
 * The locations of the map outputs of each shuffle, read from the map statuses that Spark's tracker
 * holds on this executor. They are decoded once per array of statuses: when Spark fetches statuses
 * anew (a new epoch), there is a new array. Safe for every task thread; ends with its executor.
 */
public final class LocationTable {
  /**
   * Locations by map index, and those of registered outputs by map id as well; {@link #absenceOf} tells why
   * one is missing there.
   */
  static final class Shuffle {
    private static final Shuffle EMPTY = new Shuffle(new MapOutputLocation[0], Map.of(), Set.of());

    private final @Nullable MapOutputLocation[] byMapIndex;
    private final Map<Long, MapOutputLocation> locations;
    private final Set<Long> migrated;

    private Shuffle(
        @Nullable MapOutputLocation[] byMapIndex,
        Map<Long, MapOutputLocation> locations,
        Set<Long> migrated) {
      this.byMapIndex = byMapIndex;
      this.locations = locations;
      this.migrated = migrated;
    }

    /** The location of the map output with this index, if it is still that of this map id. */
    @Nullable
    MapOutputLocation locationAt(int mapIndex, long mapId) {
      MapOutputLocation location = mapIndex < byMapIndex.length ? byMapIndex[mapIndex] : null;
      return location == null || location.descriptor().mapId() != mapId ? null : location;
    }

    @Nullable
    MapOutputLocation locationOf(long mapId) {
      return locations.get(mapId);
    }

    /** Returns why {@link #locationOf} is null. */
    TcpReason absenceOf(long mapId) {
      return migrated.contains(mapId) ? TcpReason.MIGRATED : TcpReason.NO_LOCATION;
    }
  }

  private record Decoded(WeakReference<MapStatus[]> statuses, Shuffle shuffle) {}

  private final MapOutputTracker tracker;
  private final ConcurrentHashMap<Integer, Decoded> decoded = new ConcurrentHashMap<>();

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
    Decoded known = decoded.get(shuffleId);
    if (known != null && known.statuses().refersTo(statuses)) {
      return known.shuffle();
    }
    return decoded
        .compute(
            shuffleId,
            (id, found) -> found != null && found.statuses().refersTo(statuses)
                ? found // another task has decoded them meanwhile
                : new Decoded(new WeakReference<>(statuses), decode(statuses, id, partitions)))
        .shuffle();
  }

  public void forget(int shuffleId) {
    decoded.remove(shuffleId);
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
    Map<Long, MapOutputLocation> locations = new HashMap<>();
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
        if (isRegistered) {
          locations.put(status.mapId(), byMapIndex[i]);
        }
      } else if (isRegistered) {
        migrated.add(status.mapId());
      }
    }
    return new Shuffle(byMapIndex, locations, migrated);
  }

  private static Optional<PeerId> peerOf(BlockManagerId holder) {
    return PublishedEndpoint.of(holder)
        .map(at -> new PeerId(
            holder.executorId(),
            new RdmaEndpoint(at.host(), at.port(), Nonce.ofHex(at.nonceHex()))));
  }
}
