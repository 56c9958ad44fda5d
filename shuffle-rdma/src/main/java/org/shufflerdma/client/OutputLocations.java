/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import org.jspecify.annotations.Nullable;
import org.shufflerdma.metrics.TcpReason;

/** Tells where the map outputs are whose blocks Spark asks a client for. Any thread may call. */
public interface OutputLocations {
  /**
   * Returns the location of a block's map output.
   *
   * @param executorId of the executor that Spark would ask for the block
   * @return null if the block comes by TCP
   */
  @Nullable
  MapOutputLocation locationOf(ShuffleBlockName block, String executorId);

  /** Returns why {@link #locationOf} is null. */
  TcpReason absenceOf(ShuffleBlockName block, String executorId);
}
