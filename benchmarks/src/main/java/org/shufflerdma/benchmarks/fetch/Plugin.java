/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.device.DeviceChoice;

/** Opens the plugin's transport on the software device, as an executor does. */
final class Plugin {
  static final RdmaSettings SETTINGS = RdmaSettings.from(Map.of("device", "soft"), "");

  private Plugin() {}

  static RdmaTransport open(String executorId, long poolBytes, InetAddress address)
      throws Exception {
    DeviceChoice choice = DeviceChoice.of(SETTINGS, DeviceChoice.HARDWARE).get(0);
    DeviceChoice.Bound device = choice.bind(SETTINGS, address);
    return RdmaTransport.open(
        TransportSettings.of(
            SETTINGS, poolBytes, device.address(), device.verbs().provider()),
        device.deviceName(),
        new LocalIdentity(
            "bench", executorId, "a benchmark's secret".getBytes(StandardCharsets.UTF_8)));
  }
}
