/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.metrics.LatencyHistogram;
import org.shufflerdma.verbs.ProcessLimits;
import org.shufflerdma.verbs.ProtectionDomain;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The registered map outputs of one executor, within the budget of its arena and a share of the process's
 * descriptors and mappings. An output that finds no room is not registered, and none has to leave for it.
 * Outputs of a removed shuffle are withdrawn, and given back after the grace time, in which READs under
 * way may finish, but sooner if no task here uses the shuffle. Any thread may call. The registry is
 * closed before the arena.
 */
public final class MapOutputRegistry implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MapOutputRegistry.class);

  /**
   * A removed shuffle that no task here uses is read nowhere, as a rule, and has so many percent of the
   * grace: the half for which executors that hear of its removal later may rely on a descriptor, and a tenth
   * for the READs that they posted at the end of it. Until then its deleted files keep their pages from the
   * files that tasks write next, and those take pages that no cache holds.
   */
  private static final int GRACE_PERCENT_OF_UNUSED = 60;

  private static final int CLOSE_MS = 10_000;

  /** A task of this executor that writes or reads a shuffle, from its start to its end. */
  public final class Use implements AutoCloseable {
    private final Shuffle shuffle;
    private final AtomicBoolean ended = new AtomicBoolean();

    private Use(Shuffle shuffle) {
      this.shuffle = shuffle;
    }

    /**
     * Maps, registers and describes a committed, non-empty map output of this shuffle.
     *
     * @throws NotPublishedException also if there is no room, or the shuffle was removed since this use began
     */
    public PublishedOutput publish(MapOutputFile output) throws NotPublishedException {
      return MapOutputRegistry.this.publish(shuffle, output);
    }

    /** Throws what {@link #publish} would throw for an output of so many bytes before it looks at it. */
    public void admit(long lengthBytes) throws NotPublishedException {
      synchronized (lock) {
        MapOutputRegistry.this.admit(shuffle, lengthBytes);
      }
    }

    @Override
    public void close() {
      if (ended.compareAndSet(false, true)) {
        synchronized (lock) {
          shuffle.users--;
          forgetIfUnused(shuffle);
        }
      }
    }
  }

  /** The outputs of one shuffle, from its first use until it is removed. Guarded by the registry's lock. */
  private static final class Shuffle {
    private final int id;
    private final Set<PublishedOutput> outputs = new HashSet<>();
    private int users;
    private boolean removed;

    private Shuffle(int id) {
      this.id = id;
    }
  }

  private final OutputRegistrar registrar;
  private final long withdrawGraceMs;
  private final int closeMs;
  private final ScheduledThreadPoolExecutor reaper;

  /** The outputs of removed shuffles, in their grace. */
  private final DeletedOutputs deleted;

  private final Object lock = new Object();
  // Guarded by lock.
  private final Map<Integer, Shuffle> shuffles = new HashMap<>();

  /** Publications under way, which {@link #close} waits for. */
  private int publishing;

  /** The outputs that are being registered. */
  private final Set<PublishedOutput> announced = new HashSet<>();

  private boolean closed;

  private final LongAdder published = new LongAdder();
  private final LatencyHistogram registrationTimes = new LatencyHistogram();

  /**
   * Creates a registry without outputs, which will be pinned.
   *
   * @param arena holds the descriptors; the map outputs share its budget
   * @param withdrawGraceMs between the withdrawal of an output and its end
   */
  public MapOutputRegistry(
      ProtectionDomain domain,
      RegisteredArena arena,
      DescriptorSeal seal,
      long withdrawGraceMs,
      LongSupplier nanoClock) {
    this(domain, arena, OutputPaging.PINNED, seal, withdrawGraceMs, nanoClock);
  }

  /**
   * Creates a registry without outputs.
   *
   * @param arena holds the descriptors; the map outputs share its budget if they are pinned
   * @param withdrawGraceMs between the withdrawal of an output and its end
   */
  public MapOutputRegistry(
      ProtectionDomain domain,
      RegisteredArena arena,
      OutputPaging paging,
      DescriptorSeal seal,
      long withdrawGraceMs,
      LongSupplier nanoClock) {
    this(
        domain,
        arena,
        paging,
        ProcessLimits.read(),
        seal,
        withdrawGraceMs,
        nanoClock,
        DiskSpace::isLow,
        CLOSE_MS);
  }

  /**
   * Creates a registry without outputs.
   *
   * @param limits of the process; outputs take a share
   * @param diskIsLow whether the disk of a directory runs low
   * @param closeMs how long the close waits for what is under way
   */
  MapOutputRegistry(
      ProtectionDomain domain,
      RegisteredArena arena,
      OutputPaging paging,
      ProcessLimits limits,
      DescriptorSeal seal,
      long withdrawGraceMs,
      LongSupplier nanoClock,
      Predicate<Path> diskIsLow,
      int closeMs) {
    this.registrar = new OutputRegistrar(domain, arena, paging, limits, seal, nanoClock);
    this.withdrawGraceMs = withdrawGraceMs;
    this.closeMs = closeMs;
    reaper =
        new ScheduledThreadPoolExecutor(1, task -> Workers.thread("shuffle-rdma-reaper", task));
    reaper.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    reaper.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    boolean keepsFiles = domain.costOfFile(paging.access()).keepsFile();
    deleted = new DeletedOutputs(
        keepsFiles ? diskIsLow : directory -> false, reaper, this::close, nanoClock);
    // Here, where no removed shuffle stays if the system gives no thread.
    reaper.prestartCoreThread();
  }

  /** Begins a use of the shuffle, whose outputs keep their whole grace as long as there is one. */
  public Use use(int shuffleId) {
    synchronized (lock) {
      Shuffle shuffle = shuffles.computeIfAbsent(shuffleId, Shuffle::new);
      shuffle.users++;
      return new Use(shuffle);
    }
  }

  /** Guarded by lock. */
  private void forgetIfUnused(Shuffle shuffle) {
    if (shuffle.users == 0 && shuffle.outputs.isEmpty()) {
      shuffles.remove(shuffle.id, shuffle);
    }
  }

  /** Publishes an output during a use that begins and ends with this call; see {@link Use#publish}. */
  public PublishedOutput publish(MapOutputFile output) throws NotPublishedException {
    try (Use use = use(output.shuffleId())) {
      return use.publish(output);
    }
  }

  private PublishedOutput publish(Shuffle shuffle, MapOutputFile output)
      throws NotPublishedException {
    long lengthBytes = output.lengthBytes();
    synchronized (lock) {
      admit(shuffle, lengthBytes);
      publishing++;
    }
    try {
      return publishAdmitted(shuffle, output, lengthBytes);
    } finally {
      synchronized (lock) {
        publishing--;
        lock.notifyAll();
      }
    }
  }

  private PublishedOutput publishAdmitted(Shuffle shuffle, MapOutputFile output, long lengthBytes)
      throws NotPublishedException {
    PublishedOutput result = registrar.announce(output, lengthBytes);
    try {
      synchronized (lock) {
        refuse(shuffle);
        announced.add(result);
      }
      long startNs = System.nanoTime();
      registrar.register(result);
      registrationTimes.recordSince(startNs);
      synchronized (lock) {
        refuse(shuffle);
        shuffle.outputs.add(result);
      }
    } catch (NotPublishedException | RuntimeException | Error e) {
      close(result);
      throw e;
    } finally {
      synchronized (lock) {
        announced.remove(result);
      }
    }
    published.increment();
    return result;
  }

  private void admit(Shuffle shuffle, long lengthBytes) throws NotPublishedException {
    refuse(shuffle);
    registrar.admit(lengthBytes);
  }

  private void refuse(Shuffle shuffle) throws NotPublishedException {
    if (closed) {
      throw new NotPublishedException(UnpublishedReason.CLOSED, "the executor is stopping");
    }
    if (shuffle.removed) {
      throw new NotPublishedException(
          UnpublishedReason.REMOVED, "shuffle " + shuffle.id + " has been removed");
    }
  }

  /** Takes back one output that no map status names. */
  public void retract(int shuffleId, PublishedOutput output) {
    synchronized (lock) {
      Shuffle shuffle = shuffles.get(shuffleId);
      if (shuffle == null || !shuffle.outputs.remove(output)) {
        return;
      }
      forgetIfUnused(shuffle);
    }
    close(output);
  }

  /** Withdraws all outputs of a shuffle and gives them back after the grace time, or a part of it. */
  public void removeShuffle(int shuffleId) {
    synchronized (lock) {
      Shuffle shuffle = shuffles.remove(shuffleId);
      if (shuffle == null) {
        return;
      }
      shuffle.removed = true;
      if (!shuffle.outputs.isEmpty()) {
        withdraw(shuffle, List.copyOf(shuffle.outputs));
      }
    }
  }

  /** Withdraws some outputs of a shuffle in the same way; the others stay. */
  public void remove(int shuffleId, Collection<PublishedOutput> gone) {
    synchronized (lock) {
      Shuffle shuffle = shuffles.get(shuffleId);
      if (shuffle == null) {
        return;
      }
      List<PublishedOutput> outputs =
          gone.stream().filter(shuffle.outputs::remove).toList();
      if (!outputs.isEmpty()) {
        withdraw(shuffle, outputs);
        forgetIfUnused(shuffle);
      }
    }
  }

  /** The caller holds the lock. */
  private void withdraw(Shuffle shuffle, List<PublishedOutput> outputs) {
    outputs.forEach(PublishedOutput::withdraw);
    deleted.add(outputs);
    long graceMs =
        shuffle.users > 0 ? withdrawGraceMs : withdrawGraceMs * GRACE_PERCENT_OF_UNUSED / 100;
    var unused = reaper.schedule(() -> deleted.end(outputs), graceMs, TimeUnit.MILLISECONDS);
  }

  private void close(PublishedOutput output) {
    output.withdraw();
    registrar.release(output);
    output.close();
  }

  /** Returns the registered bytes of map outputs, without those of their descriptors. */
  public long registeredBytes() {
    return registrar.registeredBytes();
  }

  /** Returns how many map outputs have been registered so far. */
  public long published() {
    return published.sum();
  }

  /** How long it took to map and to register each output that has been registered so far. */
  public LatencyHistogram registrationTimes() {
    return registrationTimes;
  }

  /** Returns the mapped bytes of files that Spark has deleted, which therefore stay on the disk. */
  public long deletedBytes() {
    return deleted.mappedBytes();
  }

  /**
   * Gives everything back without grace. First it waits for what is being registered; a
   * registration that lasts longer touches neither a descriptor nor the budget's arena afterwards, and
   * the protection domain does not close before it.
   */
  @Override
  public void close() {
    synchronized (lock) {
      closed = true;
    }
    reaper.shutdownNow();
    awaitPublications();
    List<PublishedOutput> all;
    synchronized (lock) {
      announced.forEach(PublishedOutput::withdraw);
      all = shuffles.values().stream()
          .flatMap(shuffle -> shuffle.outputs.stream())
          .toList();
      shuffles.clear();
    }
    all.forEach(this::close);
    deleted.endAll();
  }

  private void awaitPublications() {
    Deadline deadline = Deadline.afterMs(closeMs);
    try {
      boolean ended = reaper.awaitTermination(deadline.remainingNs(), TimeUnit.NANOSECONDS);
      synchronized (lock) {
        while (publishing > 0 && !deadline.expired()) {
          TimeUnit.NANOSECONDS.timedWait(lock, deadline.remainingNs());
        }
        ended &= publishing == 0;
      }
      if (!ended) {
        LOG.error("Map outputs are still being registered {} ms after the stop began", closeMs);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
