/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.util.Locale;

/** Why a map output stayed unpublished. */
public enum UnpublishedReason {
  /** Registering it would have exceeded the executor's limit. */
  BUDGET,
  /** The registered outputs had their share of the process's descriptors and mappings already. */
  DESCRIPTORS,
  /** Its shuffle was removed while the task ran. */
  REMOVED,
  /** Its file was not as long as its partitions. */
  FILE_CHANGED,
  /** Its file could not be mapped or registered, or was not tried after several failures. */
  REGISTRATION,
  /** Its checksums could not be read or computed. */
  CHECKSUMS,
  /** Its map status cannot carry a location. */
  CARRIER,
  /** The executor was stopping. */
  CLOSED,
  /** A defect of this code. */
  INTERNAL;

  /** Whether the output itself is there, and only could not be registered or located. */
  public boolean isOfRegistration() {
    return switch (this) {
      case BUDGET, DESCRIPTORS, REGISTRATION, CHECKSUMS, CARRIER -> true;
      case REMOVED, FILE_CHANGED, CLOSED, INTERNAL -> false;
    };
  }

  /** Whether the executor has as many registered outputs as it may have, as planned. */
  public boolean isOfRoom() {
    return this == BUDGET || this == DESCRIPTORS;
  }

  /** Returns the name for counters, for example {@code file-changed}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
