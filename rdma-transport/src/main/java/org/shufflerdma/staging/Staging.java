/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.control.ControlLoop;

/**
 * Both sides of staging in one process: the server that stages its own map outputs for peers, and the
 * connections to theirs. Closed by its owner before the transport, after what reads by it. Any thread may
 * call.
 */
public final class Staging implements AutoCloseable {
  private final StagingServer server;
  private final StagingClients clients;
  private final StagingStats stats;
  private final Acquired acquired;

  private Staging(
      StagingServer server, StagingClients clients, StagingStats stats, Acquired acquired) {
    this.server = server;
    this.clients = clients;
    this.stats = stats;
    this.acquired = acquired;
  }

  /** Opens both, and has the transport tell its peers where the server listens. */
  public static Staging open(
      RdmaTransport transport, CommittedOutputs outputs, StagingSettings settings)
      throws IOException {
    Acquired acquired = new Acquired();
    try {
      StagingStats stats = new StagingStats();
      ControlLoop loop = ControlLoop.open("rdma-" + transport.identity().executorId() + "-control");
      acquired.keep(loop::close);
      StagingWorkers workers = acquired.keep(new StagingWorkers(settings.threads()));
      StagingServer server = StagingServer.open(
          transport,
          loop,
          outputs,
          settings,
          new StagingBudget(settings.budgetBytes()),
          RequestQuota.ofProcess(),
          stats,
          workers::start);
      acquired.keep(server::close);
      acquired.keep(loop::close); // first, so that nobody asks any more when the server ends
      StagingClients clients =
          acquired.keep(new StagingClients(loop, transport.identity(), transport.settings()));
      return new Staging(server, clients, stats, acquired);
    } catch (Throwable t) {
      acquired.close();
      throw t;
    }
  }

  /** Whether peers can have outputs staged here. */
  public boolean stages() {
    return server.isOfUse();
  }

  public StagingClients clients() {
    return clients;
  }

  public StagingStats stats() {
    return stats;
  }

  /** Registered for readers now. */
  public long registeredBytes() {
    return server.registeredBytes();
  }

  /** The files of the shuffle may be deleted. */
  public void forgetShuffle(int shuffleId) {
    server.forgetShuffle(shuffleId);
  }

  @Override
  public void close() {
    acquired.close();
  }
}
