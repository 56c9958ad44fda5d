/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import org.jspecify.annotations.Nullable;
import org.shufflerdma.client.MapOutputLocation;
import org.shufflerdma.client.OutputLocations;
import org.shufflerdma.client.ShuffleBlockName;
import org.shufflerdma.metrics.TcpReason;

/**
 * The locations of one shuffle as its map statuses have them.
 *
 * @param partitions number of partitions of the shuffle's partitioner
 */
public record TrackedLocations(int shuffleId, int partitions, LocationTable.Shuffle table)
    implements OutputLocations {
  /** Those that the tracker has now. */
  public static OutputLocations of(LocationTable tracker, int shuffleId, int partitions) {
    return new TrackedLocations(shuffleId, partitions, tracker.locationsOf(shuffleId, partitions));
  }

  @Override
  public @Nullable MapOutputLocation locationOf(ShuffleBlockName block, String executorId) {
    MapOutputLocation location = isOurs(block) ? table.locationOf(block.mapId()) : null;
    return location == null || !location.peer().executorId().equals(executorId) ? null : location;
  }

  @Override
  public TcpReason absenceOf(ShuffleBlockName block, String executorId) {
    if (!isOurs(block)) {
      return TcpReason.OTHER_BLOCK;
    }
    return table.locationOf(block.mapId()) == null
        ? table.absenceOf(block.mapId())
        : TcpReason.MIGRATED; // Spark asks another executor than the one that published it
  }

  private boolean isOurs(ShuffleBlockName block) {
    return block.shuffleId() == shuffleId && block.endPartition() <= partitions;
  }
}
