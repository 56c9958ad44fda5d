/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.util.List;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.config.RdmaSettings;

/**
 * Derives from a host and its measurements which settings should change. The software device, which
 * pins nothing and has no fabric, needs none.
 */
record Advice(Report report, RdmaSettings settings) {
  private static final long GIB = 1L << 30;

  /**
   * 67 ms: with a shorter ACK timeout the device would resend packets that only wait in a switch.
   */
  private static final int LEAST_ACK_TIMEOUT = 14;

  /**
   * @param memoryBytes of the host
   */
  void onMemory(long memoryBytes) {
    Long set = settings.maxRegisteredBytes();
    if (set != null && set > memoryBytes / 2) {
      report.suggest(
          settings.key("maxRegisteredBytes") + "=" + Math.max(1, memoryBytes / 2 / GIB) + "g",
          "half of this host's " + memoryBytes / GIB + " GiB, shared by its executors: registered"
              + " pages cannot be evicted");
    }
  }

  /**
   * Suggests settings if the device reports a dead peer later than the plugin's own watchdog would.
   */
  void onDeadPeer(DeadPeer.GivenUp given) {
    double boundSeconds = settings.peerLostTimeoutMs() / 1e3;
    if (given.seconds() <= boundSeconds) {
      return;
    }
    String reason = "this device took " + Samples.number(given.seconds())
        + " s to give a dead peer up, longer than peerLostTimeout ("
        + Samples.number(boundSeconds) + " s): till then only the plugin's own watch ends a"
        + " connection";
    int ackTimeout = given.ackTimeout();
    for (double seconds = given.seconds(); seconds > boundSeconds; seconds /= 2) {
      ackTimeout--;
    }
    if (ackTimeout >= LEAST_ACK_TIMEOUT) {
      report.suggest(
          settings.key("ackTimeout") + "=" + (int) ConnectionSettings.ackTimeoutMs(ackTimeout)
              + "ms",
          reason);
    } else {
      int tries = settings.connection().retryCount() + 1;
      report.suggest(
          settings.key("retryCount") + "="
              + Math.max(0, (int) (tries * boundSeconds / given.seconds()) - 1),
          reason);
    }
  }

  /**
   * @param measured name of the device, with its port if that was chosen
   * @param ports of all devices of this host, see {@link HostFacts#devices}
   */
  void onDevice(String measured, List<String> ports) {
    if (ports.size() > 1 && settings.rails().isEmpty() && !measured.equals(settings.device())) {
      report.suggest(
          settings.key("device") + "=" + measured,
          "this host has several: " + String.join(", ", ports));
    }
  }
}
