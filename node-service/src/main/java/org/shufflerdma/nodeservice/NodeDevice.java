/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.PerPeerExecutor;
import org.shufflerdma.config.NodeServiceSettings;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.control.ControlLoop;
import org.shufflerdma.device.DeviceChoice;
import org.shufflerdma.device.RdmaUnavailableException;
import org.shufflerdma.memory.PoolSettings;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.staging.RequestQuota;
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
 * @param quota of the requests of all readers
 * @param quotas that of each user, by its uid
 * @param lanes to the workers that read map outputs, of each user
 * @param shared folder of the memory that reducers map; null if the service serves no jobs
 * @param port at which the services of all hosts answer
 */
record NodeDevice(
    RdmaSettings settings,
    DeviceChoice.Bound bound,
    ControlLoop loop,
    StagingBudget budget,
    RequestQuota quota,
    ConcurrentMap<Integer, RequestQuota> quotas,
    StagingStats stats,
    StagingSettings staging,
    PerPeerExecutor<Integer> lanes,
    @Nullable SharedFolder shared,
    int port) {
  private static final int OWN_SECRET_BYTES = 32;
  private static final int SLAB_BYTES = 4 << 20;
  private static final int LEAST_SLAB_BYTES = 64 << 10;
  private static final int SLABS = 4;

  /** All jobs of the host share the memory, so each gives it back soon. */
  private static final int IDLE_MS = 10_000;

  /** A reducer that waited for longer without a byte could have had its outputs by HTTP. */
  private static final int PROGRESS_TIMEOUT_MS = 4_000;

  /** Binds the first device that can be used. */
  static NodeDevice open(
      RdmaSettings settings,
      InetAddress ownAddress,
      ControlLoop loop,
      NodeServiceSettings service,
      StagingWorkers workers,
      @Nullable SharedFolder shared)
      throws IOException, RdmaUnavailableException {
    List<String> refused = new ArrayList<>();
    for (DeviceChoice choice : DeviceChoice.of(settings, DeviceChoice.HARDWARE, ownAddress)) {
      try {
        DeviceChoice.Bound bound = choice.bind(settings);
        if (bound.verbs().provider() == Provider.SOFT && !hasSecret()) {
          byte[] nobodyKnows = new byte[OWN_SECRET_BYTES];
          new SecureRandom().nextBytes(nobodyKnows);
          bound.verbs().setSecret(nobodyKnows);
        }
        StagingSettings staging = StagingSettings.of(
            service.maxRegisteredBytes(),
            Runtime.getRuntime().availableProcessors(),
            settings.connectTimeoutMs(),
            settings.withdrawGraceMs());
        return new NodeDevice(
            settings,
            bound,
            loop,
            new StagingBudget(service.maxRegisteredBytes()),
            RequestQuota.ofProcess(),
            new ConcurrentHashMap<>(),
            new StagingStats(),
            staging,
            new PerPeerExecutor<>(workers.start(), Math.max(1, workers.threads() / 2)),
            shared,
            service.port());
      } catch (IOException | RdmaUnavailableException e) {
        refused.add(String.valueOf(e.getMessage()));
      }
    }
    throw new RdmaUnavailableException(String.join("; ", refused));
  }

  /** Services that READ from one another over the software device have one secret, which their operator gives them. */
  private static boolean hasSecret() {
    return System.getenv("SOFTVERBS_SECRET") != null
        || System.getenv("SOFTVERBS_SECRET_FILE") != null;
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
        TransportSettings.serving(settings, bound.address()), bound.deviceName(), identity);
  }

  /** Whether reducers are to be served, and cannot be. */
  boolean lacksSharedMemory() {
    return shared != null && !shared.isUsable();
  }

  /** Of a new job. */
  SharedSlabs newSlabs() throws IOException {
    if (shared == null) {
      throw new IOException("there is no memory for reducers (service.yarnLocalDirs is empty)");
    }
    return new SharedSlabs(shared, budget);
  }

  /** For a job, which is served, and READs into the slabs. */
  RdmaTransport open(LocalIdentity identity, SharedSlabs slabs) throws IOException {
    int slabBytes = SLAB_BYTES;
    while ((long) slabBytes * SLABS > budget.maxBytes() && slabBytes > LEAST_SLAB_BYTES) {
      slabBytes /= 2;
    }
    TransportSettings reading = TransportSettings.of(settings, budget.maxBytes(), bound.address());
    return RdmaTransport.open(
        reading.with(
            new PoolSettings(
                budget.maxBytes(), slabBytes, false, settings.relaxedOrdering(), IDLE_MS, slabs),
            PROGRESS_TIMEOUT_MS),
        bound.deviceName(),
        identity);
  }

  /**
   * Serves the readers of one application.
   *
   * @param uid of the user whose outputs these are, and who has at most half of the workers and of the requests
   */
  StagingServer serve(RdmaTransport transport, CommittedOutputs outputs, int uid)
      throws IOException {
    Executor ofUser = step -> lanes.execute(uid, step);
    RequestQuota quotaOfUser = quotas.computeIfAbsent(uid, user -> quota.ofUser());
    return StagingServer.open(
        transport, loop, outputs, staging, budget, quotaOfUser, stats, () -> ofUser);
  }
}
