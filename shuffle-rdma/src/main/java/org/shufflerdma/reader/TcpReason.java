/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.reader;

import java.util.Locale;

/** Why a block was left to TCP where no READ had failed. */
public enum TcpReason {
  /** RDMA is not in use on the reading executor. */
  RDMA_OFF,
  /** The map task published no location: its executor has no RDMA, or could not register. */
  NO_LOCATION,
  /** The file has moved to another executor since. */
  MIGRATED,
  /** Not a block of a map output, such as a push-merged chunk. */
  OTHER_BLOCK,
  /** Spark could not decode what RDMA had delivered and asks once more. */
  REFETCH,
  /** The exact length is 0 where Spark expected bytes. */
  ZERO_LENGTH,
  /** The temporary file for a large block could not be made. */
  FILE;

  /** Returns the name for counters, for example {@code no-location}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
