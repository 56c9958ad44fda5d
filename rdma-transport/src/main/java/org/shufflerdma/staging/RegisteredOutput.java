/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

/**
 * Where the descriptor of a map output is that its owner has registered, so that readers need not have it staged any more.
 *
 * @param address of the descriptor in the owner's memory, which is never 0
 * @param rkey of that memory
 * @param generation of the publication
 * @param partitions of the map output
 */
public record RegisteredOutput(long address, int rkey, long generation, int partitions) {
  public RegisteredOutput {
    if (address == 0 || partitions <= 0) {
      throw new IllegalArgumentException(
          "a descriptor at %x of %d partitions".formatted(address, partitions));
    }
  }
}
