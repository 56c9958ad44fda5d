/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapoutput;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.mapoutput.NotPublishedException.Reason;
import org.shufflerdma.memory.BudgetExhaustedException;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.metrics.LogThrottle;
import org.shufflerdma.verbs.ProtectionDomain;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The published map outputs of one executor, within the budget of its arena. What does not fit
 * makes room for itself: outputs of the shuffle that tasks of this executor have not used for
 * longest are withdrawn, and given back after the grace time, in which READs under way may finish.
 * Nobody waits for that: an output without room is announced, and becomes readable when there is
 * some. Outputs of a removed shuffle go the same way. Any thread may call. Closed before the arena.
 */
public final class MapOutputRegistry implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MapOutputRegistry.class);

  /** One part in so many is kept free, so that commits find room while others are in their grace. */
  private static final int SHARE_KEPT_FREE = 4;

  /** Shuffles whose use keeps outputs waiting are looked at again after this time. */
  private static final long RETRY_MS = 100;

  private static final int CLOSE_MS = 10_000;

  /** Outputs of one shuffle, from its first use until it is removed. Guarded by lock. */
  private static final class Shuffle {
    final int id;
    final Deque<PublishedOutput> readable = new ArrayDeque<>();
    final Deque<PublishedOutput> waiting = new ArrayDeque<>();
    final List<PublishedOutput> withdrawn = new ArrayList<>();
    int users;
    boolean removed;

    Shuffle(int id) {
      this.id = id;
    }

    boolean isIdle() {
      return users == 0;
    }

    boolean isEmpty() {
      return readable.isEmpty() && waiting.isEmpty() && withdrawn.isEmpty();
    }

    boolean forget(PublishedOutput output) {
      return readable.remove(output) || waiting.remove(output) || withdrawn.remove(output);
    }

    List<PublishedOutput> all() {
      List<PublishedOutput> all = new ArrayList<>(readable);
      all.addAll(waiting);
      all.addAll(withdrawn);
      return all;
    }
  }

  /** A task of this executor that writes or reads a shuffle, from its start to its end. */
  public final class Use implements AutoCloseable {
    private final Shuffle shuffle;
    private final AtomicBoolean ended = new AtomicBoolean();

    private Use(Shuffle shuffle) {
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

    @Override
    public void close() {
      if (ended.compareAndSet(false, true)) {
        ended(shuffle);
      }
    }
  }

  private final ProtectionDomain domain;
  private final RegisteredArena arena;
  private final DescriptorSeal seal;
  private final RegistrationBudget budget;
  private final long withdrawGraceMs;
  private final ScheduledThreadPoolExecutor reaper;
  private final RegistrationPause pause;

  /** Of removed shuffles, in their grace. */
  private final DeletedOutputs deleted;

  private final LogThrottle fullLog;
  private final LogThrottle failureLog;

  private final Object lock = new Object();
  // Guarded by lock.
  /** The shuffle comes first whose last use by a task of this executor began longest ago. */
  private final Map<Integer, Shuffle> shuffles = new LinkedHashMap<>(16, 0.75f, true);

  /** Withdrawn, but still in their grace and therefore in the budget. */
  private final Set<PublishedOutput> leaving = new HashSet<>();

  private long leavingBytes;
  private boolean retryScheduled;

  /** Publications under way, which {@link #close} waits for. */
  private int publishing;

  private boolean closed;

  private final AtomicLong generations = new AtomicLong();
  private final AtomicLong registeredBytes = new AtomicLong();
  private final LongAdder published = new LongAdder();
  private final LongAdder withdrawnForRoom = new LongAdder();

  /**
   * An empty one.
   *
   * @param arena for the descriptors; its budget is the map outputs' too
   * @param withdrawGraceMs between the withdrawal of an output and its end
   */
  public MapOutputRegistry(
      ProtectionDomain domain,
      RegisteredArena arena,
      DescriptorSeal seal,
      long withdrawGraceMs,
      LongSupplier nanoClock) {
    this(domain, arena, seal, withdrawGraceMs, nanoClock, DiskSpace::isLow);
  }

  /** The disk of a directory runs low when the predicate says so. */
  MapOutputRegistry(
      ProtectionDomain domain,
      RegisteredArena arena,
      DescriptorSeal seal,
      long withdrawGraceMs,
      LongSupplier nanoClock,
      Predicate<Path> diskIsLow) {
    this.domain = domain;
    this.arena = arena;
    this.seal = seal;
    this.budget = arena.budget();
    this.withdrawGraceMs = withdrawGraceMs;
    failureLog = new LogThrottle(TimeUnit.MINUTES.toNanos(1), nanoClock);
    fullLog = new LogThrottle(TimeUnit.MINUTES.toNanos(1), nanoClock);
    reaper = new ScheduledThreadPoolExecutor(1, task -> {
      Thread thread = new Thread(task, "shuffle-rdma-reaper");
      thread.setDaemon(true);
      return thread;
    });
    reaper.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    reaper.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    pause = new RegistrationPause(nanoClock);
    deleted = new DeletedOutputs(diskIsLow, reaper, this::close, nanoClock);
  }

  /** Until it is closed no output of the shuffle is withdrawn for want of room. */
  public Use use(int shuffleId) {
    synchronized (lock) {
      Shuffle shuffle = shuffles.computeIfAbsent(shuffleId, Shuffle::new);
      shuffle.users++;
      return new Use(shuffle);
    }
  }

  private void ended(Shuffle shuffle) {
    synchronized (lock) {
      shuffle.users--;
      if (shuffle.isIdle() && shuffle.isEmpty()) {
        shuffles.remove(shuffle.id, shuffle);
      }
    }
  }

  private void touch(Shuffle shuffle) {
    @Nullable Shuffle unused = shuffles.get(shuffle.id);
  }

  /** The same as {@link Use#publish} of a use that begins and ends with it. */
  public PublishedOutput publish(MapOutputFile output) throws NotPublishedException {
    try (Use use = use(output.shuffleId())) {
      return use.publish(output);
    }
  }

  private PublishedOutput publish(Shuffle shuffle, MapOutputFile output)
      throws NotPublishedException {
    long lengthBytes = output.lengthBytes();
    synchronized (lock) {
      refuse(shuffle);
      pause.refuseWhilePaused();
      refuseTooLong(lengthBytes);
      touch(shuffle);
      long forOutputs = budget.limitBytes() - arena.registeredBytes();
      makeRoom(shuffle, lengthBytes, forOutputs / SHARE_KEPT_FREE);
      publishing++;
    }
    try {
      return publishAdmitted(shuffle, output);
    } finally {
      synchronized (lock) {
        publishing--;
        lock.notifyAll();
      }
    }
  }

  private PublishedOutput publishAdmitted(Shuffle shuffle, MapOutputFile output)
      throws NotPublishedException {
    PublishedOutput result = announce(output);
    boolean hasRoom = budget.tryTake(result.lengthBytes());
    try {
      if (hasRoom) {
        register(result);
      }
      add(shuffle, result, hasRoom);
    } catch (NotPublishedException e) {
      close(result);
      throw e;
    }
    published.increment();
    return result;
  }

  private void refuse(Shuffle shuffle) throws NotPublishedException {
    if (closed) {
      throw new NotPublishedException(Reason.CLOSED, "the executor is stopping");
    }
    if (shuffle.removed) {
      throw new NotPublishedException(Reason.REMOVED, "shuffle " + shuffle.id + " is gone");
    }
  }

  private void refuseTooLong(long lengthBytes) throws NotPublishedException {
    if (RegistrationBudget.pages(lengthBytes) > budget.limitBytes()) {
      throw new NotPublishedException(
          Reason.BUDGET,
          "its " + lengthBytes + " bytes are more than may be registered at all: " + budget);
    }
  }

  private PublishedOutput announce(MapOutputFile output) throws NotPublishedException {
    try {
      return PublishedOutput.announce(
          output, generations.incrementAndGet() & 0xFFFF_FFFFL, arena, seal, budget);
    } catch (BudgetExhaustedException e) {
      throw new NotPublishedException(Reason.BUDGET, String.valueOf(e.getMessage()), e);
    } catch (IOException e) {
      pause.note(false);
      throw new NotPublishedException(
          Reason.REGISTRATION, "no descriptor for " + output.dataFile() + ": " + e.getMessage(), e);
    }
  }

  /** The bytes have been taken from the budget. */
  private void register(PublishedOutput output) throws NotPublishedException {
    try {
      output.register(domain);
      pause.note(true);
      registeredBytes.addAndGet(output.lengthBytes());
    } catch (NotPublishedException e) {
      if (e.reason() == Reason.REGISTRATION) {
        pause.note(false);
      }
      throw e;
    }
  }

  private void add(Shuffle shuffle, PublishedOutput output, boolean isReadable)
      throws NotPublishedException {
    synchronized (lock) {
      refuse(shuffle);
      (isReadable ? shuffle.readable : shuffle.waiting).add(output);
      if (!isReadable) {
        retryLater();
        sayFull();
      }
    }
  }

  /**
   * Withdraws outputs of shuffles that nobody here uses, longest unused first, until {@code
   * lengthBytes} more would leave {@code keptFree}; stops at the shuffle they are for.
   */
  private void makeRoom(Shuffle forShuffle, long lengthBytes, long keptFree) {
    long excess = budget.usedBytes()
        - leavingBytes
        + RegistrationBudget.pages(lengthBytes)
        + keptFree
        - budget.limitBytes();
    List<PublishedOutput> chosen = new ArrayList<>();
    long bytes = 0;
    for (Shuffle shuffle : shuffles.values()) {
      if (shuffle == forShuffle) {
        break;
      }
      while (bytes < excess && shuffle.isIdle() && !shuffle.readable.isEmpty()) {
        PublishedOutput output = shuffle.readable.remove();
        output.withdraw();
        shuffle.withdrawn.add(output);
        chosen.add(output);
        bytes += RegistrationBudget.pages(output.lengthBytes());
      }
    }
    if (!chosen.isEmpty()) {
      withdrawnForRoom.add(chosen.size());
      leave(chosen);
      endLater(() -> chosen.forEach(this::release));
      sayFull();
    }
  }

  private void leave(Collection<PublishedOutput> outputs) {
    leaving.addAll(outputs);
    leavingBytes += pages(outputs);
  }

  private void endLater(Runnable end) {
    later(
        () -> {
          end.run();
          registerWaiting();
        },
        withdrawGraceMs);
  }

  /** Not at all once the registry is closed. */
  private void later(Runnable task, long delayMs) {
    var unused = reaper.schedule(task, delayMs, TimeUnit.MILLISECONDS);
  }

  private void sayFull() {
    long held = fullLog.tryLog();
    if (held >= 0) {
      LOG.warn(
          "Map outputs have no more room ({}): {} of shuffles that tasks here do not use have been"
              + " withdrawn so far, {} wait for room. Who reads them now does so by TCP. If shuffles"
              + " in use do not fit, raise spark.shuffle.rdma.maxRegisteredBytes, or the limit that"
              + " it follows",
          budget,
          withdrawnForRoom.sum(),
          waiting());
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

  /** Registers waiting outputs for which there is room; of the shuffle used last first. */
  private void registerWaiting() {
    boolean more = true;
    while (more) {
      more = registerOneWaiting();
    }
  }

  private boolean registerOneWaiting() {
    Shuffle shuffle;
    PublishedOutput output;
    synchronized (lock) {
      shuffle = lastUsedWithWaiting();
      if (shuffle == null) {
        return false;
      }
      output = shuffle.waiting.element();
      if (!budget.tryTake(output.lengthBytes())) {
        makeRoom(shuffle, pages(shuffle.waiting), 0);
        retryLater();
        return false;
      }
    }
    boolean registered = false;
    try {
      register(output);
      registered = true;
    } catch (NotPublishedException e) {
      if (e.reason() != Reason.REMOVED && failureLog.tryLog() >= 0) {
        LOG.warn("A map output that waited for room stays unregistered", e);
      }
    }
    synchronized (lock) {
      if (shuffle.waiting.remove(output)) {
        (registered ? shuffle.readable : shuffle.withdrawn).add(output);
      }
    }
    return true;
  }

  private @Nullable Shuffle lastUsedWithWaiting() {
    Shuffle last = null;
    for (Shuffle shuffle : shuffles.values()) {
      last = shuffle.waiting.isEmpty() ? last : shuffle;
    }
    return last;
  }

  /** Takes back one output that no map status names. */
  public void retract(int shuffleId, PublishedOutput output) {
    synchronized (lock) {
      @Nullable Shuffle shuffle = shuffles.get(shuffleId);
      if (shuffle == null || !shuffle.forget(output)) {
        return;
      }
    }
    close(output);
  }

  /** Withdraws all outputs of a shuffle and gives them back after the grace time. */
  public void removeShuffle(int shuffleId) {
    synchronized (lock) {
      @Nullable Shuffle shuffle = shuffles.remove(shuffleId);
      if (shuffle == null) {
        return;
      }
      shuffle.removed = true;
      List<PublishedOutput> outputs = shuffle.all();
      outputs.forEach(PublishedOutput::withdraw);
      leave(shuffle.readable);
      deleted.add(outputs);
      endLater(() -> deleted.end(outputs));
    }
  }

  private static long pages(Collection<PublishedOutput> outputs) {
    return outputs.stream()
        .mapToLong(output -> RegistrationBudget.pages(output.lengthBytes()))
        .sum();
  }

  private void release(PublishedOutput output) {
    try {
      if (output.release()) {
        registeredBytes.addAndGet(-output.lengthBytes());
      }
    } catch (IOException e) {
      LOG.error("Leaking {} bytes that could not be given back", output.lengthBytes(), e);
    }
    synchronized (lock) {
      if (leaving.remove(output)) {
        leavingBytes -= pages(List.of(output));
      }
    }
  }

  private void close(PublishedOutput output) {
    output.withdraw();
    release(output);
    output.close();
  }

  /** In map outputs; descriptors are not counted. */
  public long registeredBytes() {
    return registeredBytes.get();
  }

  /** Map outputs announced so far, whether there was room at once or not. */
  public long published() {
    return published.sum();
  }

  /** Map outputs that wait for room now. */
  public long waiting() {
    synchronized (lock) {
      return shuffles.values().stream()
          .mapToLong(shuffle -> shuffle.waiting.size())
          .sum();
    }
  }

  /** What is mapped of files that Spark has deleted, and therefore still on the disk. */
  public long deletedBytes() {
    return deleted.mappedBytes();
  }

  /** Map outputs withdrawn so far to make room for others. */
  public long withdrawnForRoom() {
    return withdrawnForRoom.sum();
  }

  /**
   * Gives everything back without grace, once what is being published or registered has come to its
   * end: the arena and the domain, which its owner closes next, must not be in use then.
   */
  @Override
  public void close() {
    synchronized (lock) {
      closed = true;
    }
    reaper.shutdownNow();
    awaitWhatIsUnderWay();
    List<PublishedOutput> all = new ArrayList<>();
    synchronized (lock) {
      shuffles.values().forEach(shuffle -> all.addAll(shuffle.all()));
      shuffles.clear();
    }
    all.forEach(this::close);
    deleted.endAll();
  }

  private void awaitWhatIsUnderWay() {
    Deadline deadline = Deadline.afterMs(CLOSE_MS);
    try {
      boolean ended = reaper.awaitTermination(deadline.remainingNs(), TimeUnit.NANOSECONDS);
      synchronized (lock) {
        while (publishing > 0 && !deadline.expired()) {
          TimeUnit.NANOSECONDS.timedWait(lock, deadline.remainingNs());
        }
        ended &= publishing == 0;
      }
      if (!ended) {
        LOG.error("Map outputs are still being registered {} ms after the stop began", CLOSE_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
