/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.spark.rpc.RpcEndpointRef;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.ui.ExecutorState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the driver the state of this executor, and again when it has changed, soon at first and then at most every 10 s. A report that does
 * not arrive is not repeated before the next change. The executor's side closes it.
 */
final class StateReporter implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(StateReporter.class);
  private static final long FIRST_DELAY_S = 1;
  private static final long LONGEST_DELAY_S = 10;

  /** Registered bytes that come or go are no change below this part of the budget. */
  private static final long LEAST_PART = 100;

  private final RpcEndpointRef driver;
  private final Supplier<ExecutorState> state;
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
      body -> Workers.thread("shuffle-rdma-state", body));

  private final AtomicLong peak = new AtomicLong();

  /** What was told last. Used by the timer's thread. */
  private @Nullable ExecutorState told;

  private StateReporter(RpcEndpointRef driver, Supplier<ExecutorState> state) {
    this.driver = driver;
    this.state = state;
  }

  static StateReporter start(RpcEndpointRef driver, Supplier<ExecutorState> state) {
    StateReporter reporter = new StateReporter(driver, state);
    reporter.timer.execute(() -> reporter.report(FIRST_DELAY_S));
    return reporter;
  }

  private void report(long nextDelayS) {
    try {
      ExecutorState now = look();
      if (hasChanged(told, now)) {
        driver.send(ExecutorReport.toWire(now));
        told = now;
      }
    } catch (RuntimeException | Error e) { // the next report comes all the same
      LOG.debug("The driver was not told the state of this executor", e);
    }
    if (!timer.isShutdown()) {
      var unused = timer.schedule(
          () -> report(Math.min(LONGEST_DELAY_S, 2 * nextDelayS)), nextDelayS, TimeUnit.SECONDS);
    }
  }

  /** Notes how much is registered now, for the peak. Any thread may call. */
  void sample() {
    var unused = look();
  }

  private ExecutorState look() {
    ExecutorState now = state.get();
    now.peakRegisteredBytes = peak.accumulateAndGet(now.registeredBytes, Math::max);
    return now;
  }

  static boolean hasChanged(@Nullable ExecutorState before, ExecutorState now) {
    return before == null
        || before.connections != now.connections
        || Math.max(
                Math.abs(before.registeredBytes - now.registeredBytes),
                now.peakRegisteredBytes - before.peakRegisteredBytes)
            > now.maxRegisteredBytes / LEAST_PART;
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }
}
