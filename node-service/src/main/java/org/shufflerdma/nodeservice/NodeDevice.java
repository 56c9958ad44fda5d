/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.shufflerdma.concurrent.PerPeerExecutor;
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
import org.shufflerdma.staging.StagingWorkers;
import org.shufflerdma.verbs.Provider;

/**
 * The device of the service, and what its applications share: the memory for their readers, and the thread
 * that reads their control connections. Any thread may call.
 *
 * @param loop its owner closes it last
 * @param stats of all applications, also those that have ended
 * @param lanes to the workers that read map outputs, of each user
 */
record NodeDevice(
    RdmaSettings settings,
    DeviceChoice.Bound bound,
    ControlLoop loop,
    StagingBudget budget,
    StagingStats stats,
    StagingSettings staging,
    PerPeerExecutor<Integer> lanes) {
  private static final int OWN_SECRET_BYTES = 32;

  /** Binds the first device that can be used. */
  static NodeDevice open(
      RdmaSettings settings,
      InetAddress ownAddress,
      ControlLoop loop,
      long maxRegisteredBytes,
      StagingWorkers workers)
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
        StagingSettings staging = StagingSettings.of(
            maxRegisteredBytes,
            Runtime.getRuntime().availableProcessors(),
            settings.connectTimeoutMs(),
            settings.withdrawGraceMs());
        return new NodeDevice(
            settings,
            bound,
            loop,
            new StagingBudget(maxRegisteredBytes),
            new StagingStats(),
            staging,
            new PerPeerExecutor<>(workers.start(), Math.max(1, workers.threads() / 2)));
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

  /**
   * Serves the readers of one application.
   *
   * @param uid of the user whose outputs these are, and who has at most half of the workers
   */
  StagingServer serve(RdmaTransport transport, CommittedOutputs outputs, int uid)
      throws IOException {
    Executor ofUser = step -> lanes.execute(uid, step);
    return StagingServer.open(transport, loop, outputs, staging, budget, stats, () -> ofUser);
  }
}
