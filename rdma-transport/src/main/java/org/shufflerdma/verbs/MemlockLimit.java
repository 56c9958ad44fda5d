/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/**
 * How much memory this process may pin. {@code exempt}: it has CAP_IPC_LOCK and the limit does not
 * bind. A limit of {@link Long#MAX_VALUE} is "unlimited".
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

  /** Why pinning failed and what to do, for the end of a message; empty if the limit does not bind. */
  public String remedy() {
    return binds() ? ": the limit of locked memory is " + softBytes / 1024 + " KiB" + REMEDY : "";
  }
}
