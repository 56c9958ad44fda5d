/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.Locale;

/** The reasons for which a block is fetched by TCP although no READ failed. */
public enum TcpReason {
  /** RDMA is not in use on the reading executor. */
  RDMA_OFF,
  /** The map task published no location: its executor has no RDMA, or could not register. */
  NO_LOCATION,
  /** The file has moved to another executor since. */
  MIGRATED,
  /** The block does not belong to a map output; it may be a push-merged chunk. */
  OTHER_BLOCK,
  /** Spark could not decode the block that RDMA had delivered, and asks for it again. */
  REFETCH,
  /** The exact length of the block is 0, but Spark expected bytes. */
  ZERO_LENGTH,
  /** The temporary file for a large block could not be created. */
  FILE;

  /** Returns the name for counters, for example {@code no-location}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
