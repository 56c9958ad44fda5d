/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.estimate;

import java.util.Locale;

/** Figures for people. */
final class Units {
  private static final String[] BYTES = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

  private Units() {}

  static String bytes(long bytes) {
    return bytes((double) bytes);
  }

  static String bytes(double bytes) {
    int unit = 0;
    double rest = bytes;
    while (rest >= 1024 && unit < BYTES.length - 1) {
      rest /= 1024;
      unit++;
    }
    return String.format(
        Locale.ROOT, unit == 0 || rest >= 100 ? "%.0f %s" : "%.1f %s", rest, BYTES[unit]);
  }

  static String time(long ms) {
    return time((double) ms);
  }

  static String time(double ms) {
    if (ms < 60_000) {
      return String.format(Locale.ROOT, "%.1f s", ms / 1000);
    }
    long seconds = Math.round(ms / 1000);
    return seconds < 3600
        ? "%d min %d s".formatted(seconds / 60, seconds % 60)
        : "%d h %d min".formatted(seconds / 3600, seconds / 60 % 60);
  }

  static String count(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  static String count(long number, String what) {
    return count(number) + " " + what + (number == 1 ? "" : "s");
  }

  static String percent(double percent) {
    return String.format(Locale.ROOT, percent >= 9.95 ? "%.0f %%" : "%.1f %%", percent);
  }
}
