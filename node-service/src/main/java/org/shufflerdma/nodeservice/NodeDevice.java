/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.control.ControlLoop;
import org.shufflerdma.device.DeviceChoice;
import org.shufflerdma.device.RdmaUnavailableException;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.staging.StagingBudget;
import org.shufflerdma.staging.StagingServer;
import org.shufflerdma.staging.StagingSettings;
import org.shufflerdma.staging.StagingStats;
import org.shufflerdma.verbs.Provider;

/**
 * The device of the service, and what its applications share: the memory for their readers, and the thread
 * that reads their control connections. Any thread may call.
 *
 * @param loop its owner closes it last
 * @param stats of all applications, also those that have ended
 */
record NodeDevice(
    RdmaSettings settings,
    DeviceChoice.Bound bound,
    ControlLoop loop,
    StagingBudget budget,
    StagingStats stats) {
  private static final int OWN_SECRET_BYTES = 32;

  /** Binds the first device that can be used. */
  static NodeDevice open(
      RdmaSettings settings, InetAddress ownAddress, ControlLoop loop, long maxRegisteredBytes)
      throws IOException, RdmaUnavailableException {
    List<String> refused = new ArrayList<>();
    for (DeviceChoice choice : DeviceChoice.of(settings, DeviceChoice.HARDWARE, ownAddress)) {
      try {
        DeviceChoice.Bound bound = choice.bind(settings);
        if (bound.verbs().provider() == Provider.SOFT) {
          byte[] nobodyKnows = new byte[OWN_SECRET_BYTES];
          new SecureRandom().nextBytes(nobodyKnows);
          bound.verbs().setSecret(nobodyKnows);
        }
        return new NodeDevice(
            settings, bound, loop, new StagingBudget(maxRegisteredBytes), new StagingStats());
      } catch (IOException | RdmaUnavailableException e) {
        refused.add(String.valueOf(e.getMessage()));
      }
    }
    throw new RdmaUnavailableException(String.join("; ", refused));
  }

  /** Lets the processes of an application in, until the result is closed. */
  AutoCloseable accept(byte[] deviceSecret) throws IOException {
    if (bound.verbs().provider() != Provider.SOFT || deviceSecret.length == 0) {
      return () -> {};
    }
    bound.verbs().acceptSecret(deviceSecret);
    return () -> bound.verbs().forgetSecret(deviceSecret);
  }

  RdmaTransport open(LocalIdentity identity) throws IOException {
    return RdmaTransport.open(
        TransportSettings.serving(settings, bound.address(), bound.verbs().provider()),
        bound.deviceName(),
        identity);
  }

  StagingServer serve(RdmaTransport transport, CommittedOutputs outputs) throws IOException {
    return StagingServer.open(
        transport,
        loop,
        outputs,
        StagingSettings.of(
            budget.maxBytes(),
            Runtime.getRuntime().availableProcessors(),
            settings.connectTimeoutMs(),
            settings.withdrawGraceMs()),
        budget,
        stats);
  }
}
