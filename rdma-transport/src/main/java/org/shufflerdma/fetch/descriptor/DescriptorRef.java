/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch.descriptor;

import org.jspecify.annotations.Nullable;
import org.shufflerdma.staging.OutputName;

/**
 * The address of the descriptor of one map output in a peer's memory, and what the descriptor must
 * contain; or the name of a map output that has none, as it is not registered.
 *
 * @param address 0 if there is no descriptor
 * @param partitions number of partitions of the shuffle, which fixes where the entries lie
 * @param folder by which it is named instead of numbers; empty for an output of Spark's
 */
public record DescriptorRef(
    long address,
    int rkey,
    long generation,
    int shuffleId,
    long mapId,
    int partitions,
    String folder) {
  public DescriptorRef(
      long address, int rkey, long generation, int shuffleId, long mapId, int partitions) {
    this(address, rkey, generation, shuffleId, mapId, partitions, "");
  }

  /** An output of another framework than Spark, which must be staged. */
  public static DescriptorRef of(OutputName name) {
    return new DescriptorRef(
        0, 0, 0, name.shuffleId(), name.mapId(), Integer.MAX_VALUE, name.folder());
  }

  /** By which its owner knows it. */
  public OutputName name() {
    return new OutputName(shuffleId, mapId, folder);
  }

  /** An output of which the peer has registered nothing, so that it must be staged. */
  public static DescriptorRef unregistered(int shuffleId, long mapId, int partitions) {
    return new DescriptorRef(0, 0, 0, shuffleId, mapId, partitions);
  }

  public boolean isRegistered() {
    return address != 0;
  }

  // Written out, because those of a record are linked at run time, at a cost to each new executor.
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof DescriptorRef that
        && address == that.address
        && rkey == that.rkey
        && generation == that.generation
        && shuffleId == that.shuffleId
        && mapId == that.mapId
        && partitions == that.partitions
        && folder.equals(that.folder);
  }

  @Override
  public int hashCode() {
    return Long.hashCode(31 * address + generation) + Long.hashCode(mapId);
  }

  /** Names the map output for the log, without its address and key. */
  @Override
  public String toString() {
    return folder.isEmpty()
        ? "shuffle %d, map %d, generation %d, %d partitions"
            .formatted(shuffleId, mapId, generation, partitions)
        : folder;
  }
}
