/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.hardware.Report.Verdict;
import org.shufflerdma.verbs.MemlockLimit;

/** Checks whether the limit of locked memory has room for this run, and for an executor. */
record LockedMemory(MemlockLimit limit, RdmaSettings settings) {
  private static final String NAME = "locked memory";
  private static final long MEBIBYTE = 1 << 20;

  /**
   * The bytes that are pinned in addition to the file and two regions of its size: sinks, queues,
   * and the plugin's own buffers.
   */
  private static final long OTHER_BYTES = 64 * MEBIBYTE;

  /** The least useful budget: with less, an executor withdraws outputs all the time. */
  private static final long USEFUL_BYTES = 1024 * MEBIBYTE;

  static final String REMEDY = "raise it with `ulimit -l unlimited`,"
      + " /etc/security/limits.d or LimitMEMLOCK= of the service that starts the process";

  /** The shortest way to a higher limit, for a table. */
  static final String COMMAND =
      "LimitMEMLOCK=infinity in the unit of the service that starts executors (systemctl edit), or"
          + " `* - memlock unlimited` in /etc/security/limits.d";

  void refuseTooLittle(long fileBytes) throws RefusedException {
    long wanted = 3 * fileBytes + OTHER_BYTES;
    if (limit.binds() && limit.softBytes() < wanted) {
      throw new RefusedException("the limit of locked memory is " + limit.softBytes() / 1024
          + " KiB, and this run needs " + wanted / 1024 + " KiB: " + REMEDY
          + ", or give a smaller --size; executors pin all their map outputs and need more");
    }
  }

  /** Compares the limit with what executors lock, which is more than this run does. */
  void judge(Report report, boolean pins) {
    if (!pins) {
      report.needed(NAME, Verdict.PROVEN, "the software device pins nothing");
      return;
    }
    if (!limit.binds()) {
      report.needed(NAME, Verdict.PROVEN, "no limit binds");
      return;
    }
    Long set = settings.maxRegisteredBytes();
    long wanted = set == null ? USEFUL_BYTES : set;
    String text = limit.softBytes() / MEBIBYTE + " MiB may be locked, and an executor "
        + (set == null ? "should have " : "locks up to ") + wanted / MEBIBYTE
        + " MiB (maxRegisteredBytes" + (set == null ? "=auto takes 7/8 of the limit)" : ")");
    if (limit.softBytes() >= wanted) {
      report.needed(NAME, Verdict.PROVEN, text);
      return;
    }
    report.needed(NAME, Verdict.NOT_PROVEN, text + ": " + REMEDY);
    if (set != null) {
      report.suggest(
          settings.key("maxRegisteredBytes") + "=auto",
          "stays below the limit of locked memory, if it is not raised");
    }
  }
}
