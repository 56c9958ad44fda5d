/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.mapoutput.NotPublishedException.Reason;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.verbs.ProtectionDomain;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The published map outputs of one executor, within its limit of registered bytes. Outputs of a
 * removed shuffle are withdrawn at once and deregistered after a grace time, in which READs under
 * way may finish. Any thread may call. Closed before the protection domain.
 */
public final class MapOutputRegistry implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MapOutputRegistry.class);
  private static final int FAILURES_BEFORE_PAUSE = 5;
  private static final long PAUSE_NS = TimeUnit.SECONDS.toNanos(60);

  private final ProtectionDomain domain;
  private final RegisteredArena arena;
  private final long maxRegisteredBytes;
  private final long withdrawGraceMs;
  private final LongSupplier nanoClock;
  private final ScheduledThreadPoolExecutor reaper;

  private final Object lock = new Object();
  // Guarded by lock.
  private final Map<Integer, List<PublishedOutput>> byShuffle = new HashMap<>();
  private final Set<PublishedOutput> withdrawn = new HashSet<>();
  private boolean closed;
  private int failuresInARow;
  private long pausedUntilNs;

  private final AtomicLong generations = new AtomicLong();
  private final AtomicLong registeredBytes = new AtomicLong();
  private final LongAdder published = new LongAdder();

  public MapOutputRegistry(
      ProtectionDomain domain,
      RegisteredArena arena,
      long maxRegisteredBytes,
      long withdrawGraceMs,
      LongSupplier nanoClock) {
    this.domain = domain;
    this.arena = arena;
    this.maxRegisteredBytes = maxRegisteredBytes;
    this.withdrawGraceMs = withdrawGraceMs;
    this.nanoClock = nanoClock;
    reaper = new ScheduledThreadPoolExecutor(1, task -> {
      Thread thread = new Thread(task, "shuffle-rdma-reaper");
      thread.setDaemon(true);
      return thread;
    });
    reaper.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /** Maps, registers and describes a committed, non-empty map output. */
  public PublishedOutput publish(MapOutputFile output) throws NotPublishedException {
    PublishedOutput result = register(output);
    published.increment();
    return result;
  }

  private PublishedOutput register(MapOutputFile output) throws NotPublishedException {
    refuseWhilePaused();
    long lengthBytes = output.lengthBytes();
    reserve(lengthBytes);
    PublishedOutput result;
    try {
      result =
          PublishedOutput.open(output, generations.incrementAndGet() & 0xFFFF_FFFFL, domain, arena);
    } catch (NotPublishedException e) {
      registeredBytes.addAndGet(-lengthBytes);
      throw e;
    } catch (IOException | RuntimeException e) {
      registeredBytes.addAndGet(-lengthBytes);
      noteRegistration(false);
      throw new NotPublishedException(
          Reason.REGISTRATION, "cannot register " + output.dataFile() + ": " + e.getMessage(), e);
    }
    noteRegistration(true);
    boolean tooLate;
    synchronized (lock) {
      tooLate = closed;
      if (!tooLate) {
        byShuffle.computeIfAbsent(output.shuffleId(), id -> new ArrayList<>()).add(result);
      }
    }
    if (tooLate) {
      close(result);
      throw new NotPublishedException(Reason.CLOSED, "the executor is stopping");
    }
    return result;
  }

  private void reserve(long bytes) throws NotPublishedException {
    long before = registeredBytes.getAndUpdate(
        current -> current > maxRegisteredBytes - bytes ? current : current + bytes);
    if (before > maxRegisteredBytes - bytes) {
      throw new NotPublishedException(
          Reason.BUDGET,
          bytes + " bytes more than the " + before + " registered exceed the limit of "
              + maxRegisteredBytes + " (spark.shuffle.rdma.maxRegisteredBytes)");
    }
  }

  private void refuseWhilePaused() throws NotPublishedException {
    synchronized (lock) {
      if (closed) {
        throw new NotPublishedException(Reason.CLOSED, "the executor is stopping");
      }
      if (failuresInARow >= FAILURES_BEFORE_PAUSE && nanoClock.getAsLong() - pausedUntilNs < 0) {
        throw new NotPublishedException(
            Reason.REGISTRATION_PAUSED,
            "the last " + failuresInARow + " registrations failed; the next is tried in up to "
                + TimeUnit.NANOSECONDS.toSeconds(PAUSE_NS) + " s");
      }
    }
  }

  private void noteRegistration(boolean succeeded) {
    synchronized (lock) {
      failuresInARow = succeeded ? 0 : failuresInARow + 1;
      pausedUntilNs = nanoClock.getAsLong() + PAUSE_NS;
    }
  }

  /** Takes back one output that no map status names. */
  public void retract(int shuffleId, PublishedOutput output) {
    synchronized (lock) {
      @Nullable List<PublishedOutput> outputs = byShuffle.get(shuffleId);
      if (outputs == null || !outputs.remove(output)) {
        return;
      }
    }
    close(output);
  }

  /** Withdraws all outputs of a shuffle and gives them back after the grace time. */
  public void removeShuffle(int shuffleId) {
    List<PublishedOutput> outputs;
    synchronized (lock) {
      @Nullable List<PublishedOutput> removed = byShuffle.remove(shuffleId);
      if (removed == null) {
        return;
      }
      outputs = removed;
      outputs.forEach(PublishedOutput::withdraw);
      withdrawn.addAll(outputs);
      if (!closed) {
        var unused = reaper.schedule(() -> reap(outputs), withdrawGraceMs, TimeUnit.MILLISECONDS);
      }
    }
  }

  private void reap(List<PublishedOutput> outputs) {
    synchronized (lock) {
      withdrawn.removeAll(outputs);
    }
    outputs.forEach(this::close);
  }

  private void close(PublishedOutput output) {
    long lengthBytes = output.lengthBytes();
    try {
      if (output.close()) {
        registeredBytes.addAndGet(-lengthBytes);
      }
    } catch (IOException e) {
      LOG.error("Leaking {} registered bytes that could not be given back", lengthBytes, e);
    }
  }

  public long registeredBytes() {
    return registeredBytes.get();
  }

  public long published() {
    return published.sum();
  }

  /** Gives everything back without grace. */
  @Override
  public void close() {
    List<PublishedOutput> all = new ArrayList<>();
    synchronized (lock) {
      closed = true;
      byShuffle.values().forEach(all::addAll);
      byShuffle.clear();
      all.addAll(withdrawn);
      withdrawn.clear();
    }
    reaper.shutdownNow();
    all.forEach(this::close);
  }
}
