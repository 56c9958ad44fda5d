/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.mapoutput.OutputLedger.Shuffle;
import org.shufflerdma.mapoutput.OutputLedger.Turn;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.verbs.ProtectionDomain;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The published map outputs of one executor, within the budget of its arena. If an output finds no
 * room, outputs of the shuffle that the tasks of this executor have not used for longest are
 * withdrawn, and are given back after the grace time, in which READs under way may finish. The
 * publisher does not wait for that: its output is announced, and becomes readable as soon as there
 * is room. Outputs of a removed shuffle are withdrawn and given back likewise, but sooner if no task
 * here uses it. Any thread may call. The registry is closed before the arena.
 */
public final class MapOutputRegistry implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MapOutputRegistry.class);

  /** One part in so many is kept free, so that commits find room while others are in their grace. */
  private static final int SHARE_KEPT_FREE = 4;

  /**
   * A removed shuffle that no task here uses is read nowhere, as a rule, and has one part in so many
   * of the grace, for executors that hear of its removal later. Until then its deleted files keep
   * their pages from the files that tasks write next, and those take pages that no cache holds.
   */
  private static final int GRACE_OF_UNUSED = 10;

  /** How soon the registry tries again to register outputs that wait for room. */
  private static final long RETRY_MS = 100;

  private static final int CLOSE_MS = 10_000;

  /** A task of this executor that writes or reads a shuffle, from its start to its end. */
  public final class Use implements AutoCloseable {
    private final Shuffle<PublishedOutput> shuffle;
    private final AtomicBoolean ended = new AtomicBoolean();

    private Use(Shuffle<PublishedOutput> shuffle) {
      this.shuffle = shuffle;
    }

    /**
     * Describes a committed, non-empty map output of this shuffle, and maps and registers it, now or
     * when there is room.
     *
     * @throws NotPublishedException also if the shuffle was removed since this use began
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
          ledger.endUse(shuffle);
        }
      }
    }
  }

  private final OutputRegistrar registrar;
  private final long withdrawGraceMs;
  private final int closeMs;
  private final ScheduledThreadPoolExecutor reaper;

  /** The outputs of removed shuffles, in their grace. */
  private final DeletedOutputs deleted;

  private final LogThrottle fullLog;
  private final LogThrottle failureLog;

  private final Object lock = new Object();
  // Guarded by lock.
  private final OutputLedger<PublishedOutput> ledger =
      new OutputLedger<>(output -> RegistrationBudget.pages(output.lengthBytes()));
  private boolean retryScheduled;

  /** Publications under way, which {@link #close} waits for. */
  private int publishing;

  /** The outputs among them that are published already. */
  private final Set<PublishedOutput> announced = new HashSet<>();

  private boolean closed;

  private final LongAdder published = new LongAdder();
  private final LongAdder withdrawnForRoom = new LongAdder();

  /**
   * Creates a registry without outputs.
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
    this(domain, arena, seal, withdrawGraceMs, nanoClock, DiskSpace::isLow, CLOSE_MS);
  }

  /**
   * Creates a registry without outputs.
   *
   * @param diskIsLow whether the disk of a directory runs low
   * @param closeMs how long the close waits for what is under way
   */
  MapOutputRegistry(
      ProtectionDomain domain,
      RegisteredArena arena,
      DescriptorSeal seal,
      long withdrawGraceMs,
      LongSupplier nanoClock,
      Predicate<Path> diskIsLow,
      int closeMs) {
    this.registrar = new OutputRegistrar(domain, arena, seal, nanoClock);
    this.withdrawGraceMs = withdrawGraceMs;
    this.closeMs = closeMs;
    failureLog = new LogThrottle(TimeUnit.MINUTES.toNanos(1), nanoClock);
    fullLog = new LogThrottle(TimeUnit.MINUTES.toNanos(1), nanoClock);
    reaper = new ScheduledThreadPoolExecutor(1, task -> {
      Thread thread = new Thread(task, "shuffle-rdma-reaper");
      thread.setDaemon(true);
      return thread;
    });
    reaper.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    reaper.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    deleted = new DeletedOutputs(diskIsLow, reaper, this::close, nanoClock);
  }

  /** Begins a use of the shuffle. Until it is closed, no output of the shuffle makes room for others. */
  public Use use(int shuffleId) {
    synchronized (lock) {
      return new Use(ledger.use(shuffleId));
    }
  }

  /** Publishes an output during a use that begins and ends with this call; see {@link Use#publish}. */
  public PublishedOutput publish(MapOutputFile output) throws NotPublishedException {
    try (Use use = use(output.shuffleId())) {
      return use.publish(output);
    }
  }

  private PublishedOutput publish(Shuffle<PublishedOutput> shuffle, MapOutputFile output)
      throws NotPublishedException {
    long lengthBytes = output.lengthBytes();
    synchronized (lock) {
      admit(shuffle, lengthBytes);
      ledger.touch(shuffle);
      long bytes = RegistrationBudget.pages(lengthBytes);
      long keptFree = registrar.bytesForOutputs() / SHARE_KEPT_FREE;
      withdraw(ledger.makeRoom(shuffle, bytes, keptFree, registrar.freeBytes()));
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

  private PublishedOutput publishAdmitted(
      Shuffle<PublishedOutput> shuffle, MapOutputFile output, long lengthBytes)
      throws NotPublishedException {
    PublishedOutput result = registrar.announce(output, lengthBytes);
    try {
      synchronized (lock) {
        refuse(shuffle);
        announced.add(result);
      }
      boolean hasRoom = registrar.tryTake(result);
      if (hasRoom) {
        registrar.register(result);
      }
      add(shuffle, result, hasRoom);
    } catch (NotPublishedException e) {
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

  private void admit(Shuffle<PublishedOutput> shuffle, long lengthBytes)
      throws NotPublishedException {
    refuse(shuffle);
    registrar.admit(lengthBytes);
  }

  private void refuse(Shuffle<PublishedOutput> shuffle) throws NotPublishedException {
    if (closed) {
      throw new NotPublishedException(UnpublishedReason.CLOSED, "the executor is stopping");
    }
    if (shuffle.isRemoved()) {
      throw new NotPublishedException(
          UnpublishedReason.REMOVED, "shuffle " + shuffle.id() + " has been removed");
    }
  }

  private void add(Shuffle<PublishedOutput> shuffle, PublishedOutput output, boolean isReadable)
      throws NotPublishedException {
    synchronized (lock) {
      refuse(shuffle);
      if (isReadable) {
        ledger.addReadable(shuffle, output);
      } else {
        ledger.addWaiting(shuffle, output);
        retryLater();
        logFull();
      }
    }
  }

  /** Withdraws outputs that make room for others. */
  private void withdraw(List<PublishedOutput> chosen) {
    if (!chosen.isEmpty()) {
      chosen.forEach(PublishedOutput::withdraw);
      withdrawnForRoom.add(chosen.size());
      endLater(() -> chosen.forEach(this::release), withdrawGraceMs);
      logFull();
    }
  }

  private void endLater(Runnable end, long graceMs) {
    later(
        () -> {
          end.run();
          registerWaiting();
        },
        graceMs);
  }

  /** Runs the task after the delay, unless the registry is closed by then. */
  private void later(Runnable task, long delayMs) {
    var unused = reaper.schedule(task, delayMs, TimeUnit.MILLISECONDS);
  }

  private void logFull() {
    long held = fullLog.tryLog();
    if (held >= 0) {
      LOG.warn(
          "There is no more room for map outputs ({}): {} outputs of shuffles that no task here uses"
              + " have been withdrawn so far, and {} outputs wait for room. Tasks that read them now"
              + " use TCP. If the shuffles in use do not fit, raise that limit",
          registrar,
          withdrawnForRoom.sum(),
          ledger.waiting());
    }
  }

  private void retryLater() {
    if (!retryScheduled && !closed) {
      retryScheduled = true;
      later(
          () -> {
            synchronized (lock) {
              retryScheduled = false;
            }
            registerWaiting();
          },
          RETRY_MS);
    }
  }

  /** Registers waiting outputs for which there is room, and makes room for others. */
  private void registerWaiting() {
    boolean more = true;
    while (more) {
      more = registerOneWaiting();
    }
  }

  /** Registers one waiting output; returns false if none can be registered now. */
  private boolean registerOneWaiting() {
    Turn<PublishedOutput> turn;
    synchronized (lock) {
      turn = ledger.nextTurn(registrar.freeBytes());
      if (turn == null || !turn.fits() || !registrar.tryTake(turn.output())) {
        if (turn != null) {
          withdraw(ledger.makeRoom(turn, registrar.freeBytes()));
        }
        if (ledger.waiting() > 0) {
          retryLater();
        }
        return false;
      }
    }
    boolean registered = false;
    try {
      registrar.register(turn.output());
      registered = true;
    } catch (NotPublishedException e) {
      if (e.reason() != UnpublishedReason.REMOVED && failureLog.tryLog() >= 0) {
        LOG.warn("A map output that waited for room could not be registered", e);
      }
    }
    synchronized (lock) {
      ledger.registered(turn, registered);
    }
    return true;
  }

  /** Takes back one output that no map status names. */
  public void retract(int shuffleId, PublishedOutput output) {
    synchronized (lock) {
      if (!ledger.forget(shuffleId, output)) {
        return;
      }
    }
    close(output);
  }

  /** Withdraws all outputs of a shuffle and gives them back after the grace time, or a part of it. */
  public void removeShuffle(int shuffleId) {
    synchronized (lock) {
      long graceMs =
          ledger.isInUse(shuffleId) ? withdrawGraceMs : withdrawGraceMs / GRACE_OF_UNUSED;
      List<PublishedOutput> outputs = ledger.remove(shuffleId);
      if (!outputs.isEmpty()) {
        outputs.forEach(PublishedOutput::withdraw);
        deleted.add(outputs);
        endLater(() -> deleted.end(outputs), graceMs);
      }
    }
  }

  /** The budget and what leaves change in one step: whoever makes room must not count it twice. */
  private void release(PublishedOutput output) {
    boolean released = registrar.release(output);
    synchronized (lock) {
      ledger.left(output);
      if (released) {
        registrar.giveBack(output);
      }
    }
  }

  private void close(PublishedOutput output) {
    output.withdraw();
    release(output);
    output.close();
  }

  /** Returns the registered bytes of map outputs, without those of their descriptors. */
  public long registeredBytes() {
    return registrar.registeredBytes();
  }

  /** Returns how many map outputs have been announced, including those that had to wait for room. */
  public long published() {
    return published.sum();
  }

  /** Returns how many map outputs wait for room now. */
  public long waiting() {
    synchronized (lock) {
      return ledger.waiting();
    }
  }

  /** Returns the mapped bytes of files that Spark has deleted, which therefore stay on the disk. */
  public long deletedBytes() {
    return deleted.mappedBytes();
  }

  /** Returns how many map outputs have been withdrawn to make room for others. */
  public long withdrawnForRoom() {
    return withdrawnForRoom.sum();
  }

  /**
   * Gives everything back without grace. First it waits for what is being published or registered; a
   * registration that lasts longer touches neither a descriptor nor the budget's arena afterwards, and
   * the protection domain does not close before it.
   */
  @Override
  public void close() {
    synchronized (lock) {
      closed = true;
    }
    reaper.shutdownNow();
    awaitWhatIsUnderWay();
    List<PublishedOutput> all;
    synchronized (lock) {
      announced.forEach(PublishedOutput::withdraw);
      all = ledger.removeAll();
    }
    all.forEach(this::close);
    deleted.endAll();
  }

  private void awaitWhatIsUnderWay() {
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
