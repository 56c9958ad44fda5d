/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

/**
 * Where a peer keeps the descriptor of one map output, and what it must say.
 *
 * @param partitions of the shuffle; they fix where the entries lie
 */
public record DescriptorRef(
    long address, int rkey, long generation, int shuffleId, long mapId, int partitions) {
  /** Of this the log has the block's name, but not where it lies. */
  @Override
  public String toString() {
    return "shuffle %d, map %d, generation %d, %d partitions"
        .formatted(shuffleId, mapId, generation, partitions);
  }
}
