/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * How many descriptors and mappings of the process a registered file keeps until it is deregistered, when
 * whoever registered it has closed what it may ({@link MappedFile#closeDescriptor}, {@link MappedFile#close}).
 */
public record FileRegionCost(int descriptors, int mappings) {
  /** Peers read the file by the device's own descriptor, or else through the mapping. */
  static final FileRegionCost SOFT = new FileRegionCost(1, 1);

  /** The device holds the pages themselves. */
  static final FileRegionCost PINNED = new FileRegionCost(0, 0);

  /** The kernel finds the pages by the mapping. */
  static final FileRegionCost ON_DEMAND = new FileRegionCost(0, 1);

  /** Returns whether a file that has been deleted stays on the disk as long as it is registered. */
  public boolean keepsFile() {
    return descriptors > 0 || mappings > 0;
  }
}
