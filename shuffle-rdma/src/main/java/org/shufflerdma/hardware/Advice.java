/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.RdmaSettings;

/** Which settings a host and its measurements ask for, beyond the defaults. */
final class Advice {
  private static final long GIB = 1L << 30;

  private Advice() {}

  /**
   * @param memoryBytes of the host
   * @param deadPeerSeconds until a READ of a dead peer fails; 0 if it never does
   * @param device name and port that were measured; null is the software device, which pins
   *     nothing and is alone
   * @param devices of this host, see {@link HostFacts#devices}
   */
  static void give(
      Report report,
      RdmaSettings settings,
      long memoryBytes,
      double deadPeerSeconds,
      @Nullable String device,
      List<String> devices) {
    if (device == null) {
      return;
    }
    if (settings.maxRegisteredBytes() > memoryBytes / 2) {
      report.suggest(
          "spark.shuffle.rdma.maxRegisteredBytes=" + Math.max(1, memoryBytes / 2 / GIB) + "g",
          "half of this host's " + memoryBytes / GIB + " GiB, shared by its executors: registered"
              + " pages cannot be evicted");
    }
    if (deadPeerSeconds * 1000 > settings.fetchTimeoutMs()) {
      report.suggest(
          "spark.shuffle.rdma.fetchTimeout=" + (long) Math.ceil(deadPeerSeconds * 1.5) + "s",
          "this device takes " + Samples.number(deadPeerSeconds) + " s to give a dead peer up");
    }
    if (devices.size() > 1) {
      report.suggest(
          "spark.shuffle.rdma.device=" + device,
          "this host has several: " + String.join(", ", devices));
    }
  }
}
