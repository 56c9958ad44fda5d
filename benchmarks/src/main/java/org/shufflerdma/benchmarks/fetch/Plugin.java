/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.device.DeviceChoice;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.staging.Staging;
import org.shufflerdma.staging.StagingSettings;

/** Opens the plugin's transport on the software device, as an executor does. */
public final class Plugin {
  static final RdmaSettings SETTINGS = RdmaSettings.from(Map.of("device", "soft"), "");

  private static final int STAGING_THREADS = 4;

  private Plugin() {}

  /** Opens staging as an executor does, for so many bytes of readers. */
  public static Staging openStaging(
      RdmaTransport transport, CommittedOutputs outputs, long stagingBytes) throws IOException {
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
    return open(SETTINGS, executorId, poolBytes, address);
  }

  /** Opens a transport with other settings, which must choose the software device. */
  public static RdmaTransport open(
      RdmaSettings settings, String executorId, long poolBytes, InetAddress address)
      throws Exception {
    DeviceChoice.Bound device =
        DeviceChoice.of(settings, DeviceChoice.HARDWARE, address).get(0).bind(settings);
    return RdmaTransport.open(
        TransportSettings.of(settings, poolBytes, device.address()),
        device.deviceName(),
        new LocalIdentity(
            "bench", executorId, "a benchmark's secret".getBytes(StandardCharsets.UTF_8)));
  }

  /** Where this transport is, for a process to print as JSON; {@link #peer} reads it there. */
  public static Map<String, Object> endpoint(RdmaTransport transport) {
    RdmaEndpoint at = transport.endpoint();
    return Map.of("host", at.host(), "port", at.port(), "nonce", at.bootNonce().toHex());
  }

  /** The peer with this executor id, from what its process has printed: see {@link #endpoint}. */
  public static PeerId peer(String executorId, JsonNode said) {
    JsonNode at = said.get("endpoint");
    Nonce nonce = Nonce.ofHex(at.get("nonce").asText());
    return new PeerId(
        executorId, new RdmaEndpoint(at.get("host").asText(), at.get("port").asInt(), nonce));
  }
}
