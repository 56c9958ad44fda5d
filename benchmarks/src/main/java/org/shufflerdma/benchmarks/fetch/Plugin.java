/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.device.DeviceChoice;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.staging.Staging;
import org.shufflerdma.staging.StagingSettings;

/** Opens the plugin's transport on the software device, as an executor does. */
final class Plugin {
  static final RdmaSettings SETTINGS = RdmaSettings.from(Map.of("device", "soft"), "");

  private static final int STAGING_THREADS = 4;

  private Plugin() {}

  /** Opens staging as an executor does, for so many bytes of readers. */
  static Staging openStaging(RdmaTransport transport, CommittedOutputs outputs, long stagingBytes)
      throws IOException {
    return Staging.open(
        transport,
        outputs,
        StagingSettings.of(
            stagingBytes,
            STAGING_THREADS,
            SETTINGS.connectTimeoutMs(),
            SETTINGS.withdrawGraceMs()));
  }

  static RdmaTransport open(String executorId, long poolBytes, InetAddress address)
      throws Exception {
    DeviceChoice choice =
        DeviceChoice.of(SETTINGS, DeviceChoice.HARDWARE, address).get(0);
    DeviceChoice.Bound device = choice.bind(SETTINGS);
    return RdmaTransport.open(
        TransportSettings.of(SETTINGS, poolBytes, device.address()),
        device.deviceName(),
        new LocalIdentity(
            "bench", executorId, "a benchmark's secret".getBytes(StandardCharsets.UTF_8)));
  }
}
