/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.ui.ExecutorState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Collects what executors report for a moment, and passes it on together, the last state of each. Any thread may call. The driver's side
 * closes it.
 */
final class ExecutorReports implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorReports.class);

  private final Consumer<List<ExecutorState>> to;
  private final long collectMs;
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
      body -> Workers.thread("shuffle-rdma-reports", body));

  // Guarded by this.
  private final Map<String, ExecutorState> collected = new HashMap<>();
  private boolean closed;

  ExecutorReports(Consumer<List<ExecutorState>> to, long collectMs) {
    this.to = to;
    this.collectMs = collectMs;
  }

  /** Takes what {@link ExecutorReport#toWire} has made; what is none is passed over. */
  synchronized void received(Map<?, ?> wire) {
    if (closed) {
      return;
    }
    try {
      ExecutorState state = ExecutorReport.ofWire(wire);
      if (collected.isEmpty()) {
        var unused = timer.schedule(this::passOn, collectMs, TimeUnit.MILLISECONDS);
      }
      collected.put(state.executorId, state);
    } catch (IllegalArgumentException e) {
      LOG.debug("A report is passed over: {}", e.getMessage());
    }
  }

  private void passOn() {
    List<ExecutorState> states;
    synchronized (this) {
      states = List.copyOf(collected.values());
      collected.clear();
    }
    to.accept(states);
  }

  @Override
  public synchronized void close() {
    closed = true;
    timer.shutdownNow();
  }
}
