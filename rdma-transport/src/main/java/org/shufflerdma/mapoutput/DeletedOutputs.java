/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.shufflerdma.metrics.LogThrottle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Outputs of removed shuffles, in their grace. Spark has deleted their files, which keep their space
 * on the disk as long as they are mapped or open; while there are any, the disk is looked at, and when it
 * runs low they end without grace. Any thread may call.
 */
final class DeletedOutputs {
  private static final Logger LOG = LoggerFactory.getLogger(DeletedOutputs.class);
  private static final long CHECK_MS = 500;

  private final Predicate<Path> diskIsLow;
  private final ScheduledExecutorService scheduler;
  private final Consumer<PublishedOutput> close;
  private final LogThrottle lowLog;

  // Guarded by this.
  private final Set<PublishedOutput> outputs = new HashSet<>();
  private boolean checkScheduled;

  /**
   * Without outputs.
   *
   * @param diskIsLow whether the disk of a directory has little room left
   * @param scheduler for the checks of the disks
   * @param close ends an output; may be called twice for one
   */
  DeletedOutputs(
      Predicate<Path> diskIsLow,
      ScheduledExecutorService scheduler,
      Consumer<PublishedOutput> close,
      LongSupplier nanoClock) {
    this.diskIsLow = diskIsLow;
    this.scheduler = scheduler;
    this.close = close;
    lowLog = new LogThrottle(TimeUnit.MINUTES.toNanos(1), nanoClock);
  }

  synchronized void add(Collection<PublishedOutput> removed) {
    outputs.addAll(removed);
    if (!checkScheduled) {
      checkScheduled = true;
      scheduleCheck(0);
    }
  }

  void end(Collection<PublishedOutput> some) {
    synchronized (this) {
      some.forEach(outputs::remove);
    }
    some.forEach(close);
  }

  void endAll() {
    end(snapshot());
  }

  synchronized long mappedBytes() {
    return outputs.stream()
        .filter(PublishedOutput::isRegistered)
        .mapToLong(PublishedOutput::lengthBytes)
        .sum();
  }

  private synchronized List<PublishedOutput> snapshot() {
    return List.copyOf(outputs);
  }

  private void scheduleCheck(long delayMs) {
    var unused = scheduler.schedule(this::check, delayMs, TimeUnit.MILLISECONDS);
  }

  private void check() {
    List<PublishedOutput> now;
    synchronized (this) {
      now = new ArrayList<>(outputs);
      checkScheduled = !now.isEmpty();
      if (checkScheduled) {
        scheduleCheck(CHECK_MS);
      }
    }
    Map<Path, Boolean> low = new HashMap<>();
    now.removeIf(output -> !low.computeIfAbsent(output.directory(), diskIsLow::test));
    if (now.isEmpty()) {
      return;
    }
    end(now);
    if (lowLog.tryLog() >= 0) {
      LOG.warn(
          "A disk is nearly full ({}): {} map outputs of removed shuffles were given up at once, as"
              + " their deleted files held space. Who still reads them fails over to TCP",
          now.get(0).directory(),
          now.size());
    }
  }
}
