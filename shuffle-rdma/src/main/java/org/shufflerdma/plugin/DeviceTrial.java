/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.Verbs;

/**
 * A device as an executor would choose it, and put to the executor's own test, without Spark. For
 * programs that judge devices; nothing of it is in use while applications run.
 *
 * @param deviceName null is the software device
 * @param address what the executor would listen on
 */
public record DeviceTrial(
    Verbs verbs, @Nullable String deviceName, InetAddress address, TransportSettings transport) {
  private static final String EXECUTOR = "trial";
  private static final byte[] SECRET = "of nobody".getBytes(StandardCharsets.UTF_8);

  /** Takes the first device that the settings allow; hardware that is not there is no device. */
  public static DeviceTrial choose(RdmaSettings settings) throws IOException {
    try {
      DeviceChoice choice = DeviceChoice.of(settings, DeviceChoice.HARDWARE).get(0);
      if (choice.hardwareName() == null && !"soft".equals(settings.device())) {
        throw new IOException(choice.reason());
      }
      DeviceChoice.Bound bound = choice.bind(settings, ownAddress());
      if (bound.verbs().provider() == Provider.SOFT) {
        bound.verbs().setSecret(SECRET);
      }
      return new DeviceTrial(
          bound.verbs(),
          bound.deviceName(),
          bound.address(),
          RdmaStack.transportSettings(settings, bound.address()));
    } catch (RdmaUnavailableException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /**
   * What an executor does before it trusts a device: connects to itself, with handshake and test
   * READ, and fetches a registered file's block, which must have the right bytes.
   *
   * @param directory where the file is made
   */
  public void prove(RdmaSettings settings, Path directory) throws IOException {
    try (RdmaTransport opened = RdmaTransport.open(
            transport, deviceName, new LocalIdentity("trial", EXECUTOR, SECRET));
        RegisteredArena arena = new RegisteredArena(opened.protectionDomain());
        MapOutputRegistry registry = new MapOutputRegistry(
            opened.protectionDomain(),
            arena,
            settings.maxRegisteredBytes(),
            settings.withdrawGraceMs(),
            System::nanoTime);
        BlockFetcher fetcher = new BlockFetcher(opened, FetchSettings.forCores(1))) {
      LoopbackCheck.run(opened, registry, fetcher, EXECUTOR, directory);
    }
  }

  private static InetAddress ownAddress() {
    try {
      return InetAddress.getLocalHost();
    } catch (UnknownHostException e) {
      return InetAddress.getLoopbackAddress();
    }
  }
}
