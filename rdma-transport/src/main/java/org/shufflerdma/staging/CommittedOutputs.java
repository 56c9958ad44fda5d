/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.nio.file.Path;

/** Knows the files of map outputs that have been committed. Any thread may call. */
public interface CommittedOutputs {
  /**
   * The files of one map output, which need not exist.
   *
   * @param index the offsets of the partitions in {@code data}, each in eight bytes, big-endian, and at last
   *     the end of the last one
   */
  record Files(Path data, Path index) {}

  Files filesOf(int shuffleId, long mapId);
}
