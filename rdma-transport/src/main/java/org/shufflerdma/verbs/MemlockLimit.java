/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * The limit of memory that this process may pin. {@link Long#MAX_VALUE} means unlimited.
 *
 * @param exempt whether the process has CAP_IPC_LOCK, so that the limit does not bind
 */
public record MemlockLimit(long softBytes, long hardBytes, boolean exempt) {
  private static final String REMEDY =
      "; raise it with `ulimit -l unlimited`, /etc/security/limits.d or LimitMEMLOCK= of the service"
          + " that starts the process, or give the process CAP_IPC_LOCK";

  /** Reads the limit of this process. {@link NativeLibrary} must be loaded. */
  public static MemlockLimit read() {
    long[] limits = new long[2];
    boolean exempt = Natives.memlockLimit(limits);
    return new MemlockLimit(limits[0], limits[1], exempt);
  }

  public boolean binds() {
    return !exempt && softBytes != Long.MAX_VALUE;
  }

  /**
   * Says why pinning failed and what to do, for the end of a message; empty if the limit does not
   * bind.
   */
  public String remedy() {
    return binds() ? ": the limit of locked memory is " + softBytes / 1024 + " KiB" + REMEDY : "";
  }
}
