/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.metrics.LatencyHistogram;
import org.shufflerdma.verbs.ProtectionDomain;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registered sinks for READs, by size class and within a byte budget. A slab is registered when a
 * class runs out, twice as large as the one before, cut into buffers of that class, and given up when it is idle and another class
 * needs its bytes. There may be more classes than slabs: where no slab more fits, a request may take
 * a buffer of a larger class, which goes back to that class. Any thread may call; the lock guards all
 * accounts and is never held while memory is registered, deregistered or unmapped. Closed by its owner
 * after all queue pairs are destroyed.
 */
public final class BufferPool implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(BufferPool.class);

  private static final int CLOSE_MS = 5_000;

  /** A device that takes longer to register a slab for another thread is not waited for. */
  private static final int OPENING_MS = 1_000;

  /**
   * The first slab of a class fills one huge page, unless it needs more for its first buffers. The kernel clears the pages of a
   * slab when it is registered, and 16 MiB take longer than most tasks read.
   */
  private static final int FIRST_SLAB_BYTES = 2 << 20;

  /** So many buffers whose length is a power of two fit the first slab of their class, and at least half of them of other lengths. */
  private static final int FIRST_BUFFERS = 4;

  /** From the smallest first slab to more than the largest that the settings can ask for. */
  private static final int MOST_DOUBLINGS = 10;

  /** How many classes above its own a request looks before it has a slab of another class given up. */
  private static final int CHEAP_STEPS = 1;

  private final ProtectionDomain domain;
  private final PoolSettings settings;
  private final SizeClasses classes;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  /** By class index; the last one holds the slabs of a single buffer larger than any class. */
  private final List<Deque<Slab>> slabsByClass = new ArrayList<>();

  /** Threads that want a buffer of one class at once, as tasks do that begin together. */
  private static final class Herd {
    /** Those that register a slab. */
    private int opening;

    /** Those that wait for such a slab. */
    private int waiting;
  }

  /** By class index, as above. */
  private final List<Herd> herdsByClass = new ArrayList<>();

  /** The kinds of pages (of the kernel's pool or not) that the log has mentioned. */
  private final Set<Boolean> loggedPages = new HashSet<>();

  private boolean closed;
  private long registeredBytes;

  /** The registered bytes that are being deregistered. */
  private long leavingBytes;

  /** Threads that register or deregister a slab now. */
  private int busyThreads;

  private long leasedBuffers;
  private long leasedBytes;
  private long zombieBuffers;
  private long zombieBytes;
  private long exhaustions;

  private final LatencyHistogram waits = new LatencyHistogram();

  public BufferPool(ProtectionDomain domain, PoolSettings settings) {
    this.domain = domain;
    this.settings = settings;
    this.classes = new SizeClasses(settings.slabBytes());
    for (int i = 0; i <= classes.count(); i++) {
      slabsByClass.add(new ArrayDeque<>());
      herdsByClass.add(new Herd());
    }
  }

  /** Longest buffer that shares its registration with others. */
  public int slabBytes() {
    return settings.slabBytes();
  }

  /** The most bytes that may be registered. */
  public long budgetBytes() {
    return settings.budgetBytes();
  }

  /** Returns whether a request of this length can ever be served. */
  public boolean canHold(long lengthBytes) {
    return lengthBytes <= settings.budgetBytes()
        && classes.bufferBytes(lengthBytes) <= settings.budgetBytes();
  }

  /**
   * Leases a buffer of at least {@code lengthBytes}, waiting for one until the deadline.
   *
   * @throws PoolExhaustedException if none became free in time, or none can ever be this large
   */
  public RegisteredBuffer acquire(long lengthBytes, Deadline deadline)
      throws IOException, InterruptedException {
    if (lengthBytes <= 0) {
      throw new IllegalArgumentException("a buffer of " + lengthBytes + " bytes");
    }
    lock.lock();
    try {
      if (!canHold(lengthBytes)) {
        throw exhausted(lengthBytes, "more than the budget");
      }
      RegisteredBuffer buffer = leaseNow(lengthBytes, deadline);
      return buffer == null ? awaitBuffer(lengthBytes, deadline) : buffer;
    } finally {
      lock.unlock();
    }
  }

  /** The caller holds the lock, but not while this waits. */
  private RegisteredBuffer awaitBuffer(long lengthBytes, Deadline deadline)
      throws IOException, InterruptedException {
    long startNs = System.nanoTime();
    try {
      while (true) {
        long remainingNs = deadline.remainingNs();
        if (remainingNs == 0) {
          throw exhausted(lengthBytes, "no buffer came back in time");
        }
        changed.awaitNanos(remainingNs);
        RegisteredBuffer buffer = leaseNow(lengthBytes, deadline);
        if (buffer != null) {
          return buffer;
        }
      }
    } finally {
      waits.recordSince(startNs);
    }
  }

  /**
   * Leases a buffer like {@link #acquire}; null if it would have to wait until one comes back. It takes as long as
   * the registration of a slab, or for at most a second that by another thread.
   */
  public @Nullable RegisteredBuffer tryAcquire(long lengthBytes) throws IOException {
    lock.lock();
    try {
      return leaseNow(lengthBytes, Deadline.afterMs(OPENING_MS));
    } finally {
      lock.unlock();
    }
  }

  /** The caller holds the lock, but not while a slab is registered or given up. */
  private @Nullable RegisteredBuffer leaseNow(long lengthBytes, Deadline deadline)
      throws IOException {
    Deadline opening = deadline.atMostMs(OPENING_MS);
    while (true) {
      checkOpen();
      Slab slab = slabWithFree(lengthBytes);
      if (slab == null && awaitSlab(lengthBytes, opening)) {
        continue;
      }
      if (slab == null && reserve(slabBytesFor(lengthBytes))) {
        slab = openSlab(lengthBytes);
      }
      if (slab == null) {
        slab = largerWithFree(lengthBytes, CHEAP_STEPS);
      }
      if (slab != null) {
        return lease(slab);
      }
      List<Slab> inTheWay = takeIdleFor(slabBytesFor(lengthBytes));
      if (inTheWay.isEmpty()) {
        slab = largerWithFree(lengthBytes, classes.count());
        return slab == null ? null : lease(slab);
      }
      end(inTheWay);
    }
  }

  /**
   * A slab of the smallest larger class that has a free buffer, at most {@code steps} classes above
   * that of the length. It wastes the least, and leaves the longest buffers to those that need them.
   */
  private @Nullable Slab largerWithFree(long lengthBytes, int steps) {
    if (!classes.isPooled(lengthBytes)) {
      return null;
    }
    int own = classes.indexOf(lengthBytes);
    int end = Math.min(own + steps + 1, classes.count());
    return slabsByClass.subList(own + 1, end).stream()
        .flatMap(Deque::stream)
        .filter(Slab::hasFree)
        .findFirst()
        .orElse(null);
  }

  private @Nullable Slab slabWithFree(long lengthBytes) {
    for (Slab slab : slabsFor(lengthBytes)) {
      if (slab.hasFree() && fits(slab, lengthBytes)) {
        return slab;
      }
    }
    return null;
  }

  /** Buffers of one class all fit; one larger than any class must not waste half of itself. */
  private boolean fits(Slab slab, long lengthBytes) {
    return classes.isPooled(lengthBytes)
        || (lengthBytes <= slab.bufferBytes() && slab.bufferBytes() / 2 < lengthBytes);
  }

  private Deque<Slab> slabsFor(long lengthBytes) {
    return slabsByClass.get(classOf(lengthBytes));
  }

  private Herd herdFor(long lengthBytes) {
    return herdsByClass.get(classOf(lengthBytes));
  }

  private int classOf(long lengthBytes) {
    return classes.isPooled(lengthBytes) ? classes.indexOf(lengthBytes) : classes.count();
  }

  /** Returns the size of the next slab for buffers of this length. Those of a class grow with what is asked of it. */
  private long slabBytesFor(long lengthBytes) {
    long bufferBytes = classes.bufferBytes(lengthBytes);
    if (!classes.isPooled(lengthBytes)) {
      return bufferBytes;
    }
    long first = Math.max(FIRST_SLAB_BYTES, FIRST_BUFFERS * Long.highestOneBit(bufferBytes));
    int doublings = Math.min(slabsFor(lengthBytes).size(), MOST_DOUBLINGS);
    return Math.min(settings.slabBytes(), first << doublings);
  }

  /** Takes bytes of the budget; false if so many are not left. */
  private boolean reserve(long bytes) {
    if (registeredBytes + bytes > settings.budgetBytes() || !settings.memory().tryTake(bytes)) {
      return false;
    }
    registeredBytes += bytes;
    return true;
  }

  /**
   * Takes idle slabs, of any class, out of the pool, so that {@code bytes} more fit the budget, and what pools share; none
   * if they would not fit even then.
   */
  private List<Slab> takeIdleFor(long bytes) {
    long excess = Math.max(
        registeredBytes - leavingBytes + bytes - settings.budgetBytes(),
        settings.memory().excessWith(bytes) - leavingBytes);
    List<Slab> idle = new ArrayList<>();
    for (Deque<Slab> slabs : slabsByClass) {
      for (Slab slab : slabs) {
        if (excess > 0 && slab.isIdle()) {
          idle.add(slab);
          excess -= slab.sizeBytes();
        }
      }
    }
    if (excess > 0) {
      return List.of();
    }
    slabsByClass.forEach(slabs -> slabs.removeAll(idle));
    return idle;
  }

  /**
   * Waits for a slab of this class that another thread is registering; false if there is none, if others take
   * all of its buffers, or if it does not come before the deadline or an interrupt, which the thread keeps.
   */
  private boolean awaitSlab(long lengthBytes, Deadline deadline) {
    Herd herd = herdFor(lengthBytes);
    long buffers = slabBytesFor(lengthBytes) / classes.bufferBytes(lengthBytes);
    long toSpare = herd.opening * (buffers - 1); // each slab has one for the thread that opens it
    if (herd.waiting >= toSpare) {
      return false;
    }
    herd.waiting++;
    try {
      do {
        if (changed.awaitNanos(deadline.remainingNs()) <= 0) {
          return false;
        }
      } while (!closed && herd.opening > 0 && slabWithFree(lengthBytes) == null);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      herd.waiting--;
    }
  }

  private Slab openSlab(long lengthBytes) throws IOException {
    long slabBytes = slabBytesFor(lengthBytes);
    Herd herd = herdFor(lengthBytes);
    Slab slab = null;
    herd.opening++;
    try {
      slab =
          unlocked(() -> Slab.open(domain, slabBytes, classes.bufferBytes(lengthBytes), settings));
    } finally {
      herd.opening--;
      if (slab == null) {
        registeredBytes -= slabBytes;
        settings.memory().giveBack(slabBytes);
      }
    }
    if (closed) {
      end(List.of(slab));
      checkOpen();
    }
    logPages(slab);
    slabsFor(lengthBytes).addFirst(slab);
    return slab;
  }

  private interface Step<T> {
    T run() throws IOException;
  }

  /** Carries out what may take long without the lock, which the caller holds. */
  private <T> T unlocked(Step<T> step) throws IOException {
    busyThreads++;
    lock.unlock();
    try {
      return step.run();
    } finally {
      lock.lock();
      busyThreads--;
      changed.signalAll();
    }
  }

  private void logPages(Slab slab) {
    if (settings.hugePages() && loggedPages.add(slab.isOfReservedPages())) {
      LOG.info(
          "Fetch buffers use {}",
          slab.isOfReservedPages()
              ? "huge pages of the kernel's pool (vm.nr_hugepages)"
              : "transparent huge pages, if any: the kernel's pool (vm.nr_hugepages) had none");
    }
  }

  private RegisteredBuffer lease(Slab slab) {
    leasedBuffers++;
    leasedBytes += slab.bufferBytes();
    return new RegisteredBuffer(this, slab, slab.take());
  }

  /** The one transition to FREE; called once per lease, by whoever let go last. */
  void takeBack(Slab slab, long slabOffset, boolean wasZombie) {
    boolean isLast;
    lock.lock();
    try {
      leasedBuffers--;
      leasedBytes -= slab.bufferBytes();
      if (wasZombie) {
        zombieBuffers--;
        zombieBytes -= slab.bufferBytes();
      }
      slab.putBack(slabOffset, System.nanoTime());
      isLast = slab.isToBeUnmapped();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (isLast) {
      unmap(slab);
    }
  }

  void countZombie(long bytes) {
    lock.lock();
    try {
      zombieBuffers++;
      zombieBytes += bytes;
    } finally {
      lock.unlock();
    }
  }

  /** Gives up slabs that nobody has used for as long as the settings say. */
  public void trim() {
    trim(settings.idleMs());
  }

  /** Gives up slabs that nobody has used for {@code idleMs}. */
  public void trim(long idleMs) {
    long thenNs = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(idleMs);
    lock.lock();
    try {
      List<Slab> idle = new ArrayList<>();
      for (Deque<Slab> slabs : slabsByClass) {
        slabs.stream().filter(slab -> slab.isIdleSince(thenNs)).forEach(idle::add);
        slabs.removeAll(idle);
      }
      end(idle);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Deregisters slabs that have been taken out of the pool, and unmaps those without a leased buffer.
   * What the device keeps stays mapped and counted. The caller holds the lock, but not all the time.
   */
  private void end(List<Slab> slabs) {
    slabs.forEach(slab -> leavingBytes += slab.sizeBytes());
    for (Slab slab : slabs) {
      boolean deregistered = false;
      try {
        deregistered = unlocked(() -> {
          slab.deregister();
          return true;
        });
      } catch (IOException | RuntimeException e) {
        LOG.error("Leaking {} bytes that could not be deregistered", slab.sizeBytes(), e);
      }
      leavingBytes -= slab.sizeBytes();
      if (deregistered) {
        registeredBytes -= slab.sizeBytes();
        settings.memory().giveBack(slab.sizeBytes());
        unmapIfUnused(slab);
      }
    }
  }

  private void unmapIfUnused(Slab slab) {
    slab.deregistered();
    if (slab.isToBeUnmapped()) {
      lock.unlock();
      try {
        unmap(slab);
      } finally {
        lock.lock();
      }
    }
  }

  /** Waits for a buffer that was not free, also those in vain. */
  public LatencyHistogram waits() {
    return waits;
  }

  public PoolUsage usage() {
    lock.lock();
    try {
      return new PoolUsage(
          registeredBytes, leasedBuffers, leasedBytes, zombieBuffers, zombieBytes, exhaustions);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Ends the device's access to all sinks at once. Memory with leased buffers stays mapped until
   * they are released, because views of it may be in use.
   */
  @Override
  public void close() {
    Deadline deadline = Deadline.afterMs(CLOSE_MS);
    lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      changed.signalAll();
      if (leasedBuffers > 0) {
        LOG.warn(
            "The buffer pool is closed while {} buffers ({} bytes) have not been released",
            leasedBuffers,
            leasedBytes);
      }
      List<Slab> all = slabsByClass.stream().flatMap(Deque::stream).toList();
      slabsByClass.forEach(Deque::clear);
      end(all);
      while (busyThreads > 0 && !deadline.expired()) {
        changed.awaitNanos(deadline.remainingNs());
      }
      if (busyThreads > 0) {
        LOG.error("Fetch buffers are still being registered {} ms after the stop began", CLOSE_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
  }

  private static void unmap(Slab slab) {
    try {
      slab.unmap();
    } catch (IOException e) {
      LOG.error("Leaking {} bytes that could not be unmapped", slab.sizeBytes(), e);
    }
  }

  private void checkOpen() throws PoolExhaustedException {
    if (closed) {
      throw exhausted(0, "the pool is closed");
    }
  }

  private PoolExhaustedException exhausted(long lengthBytes, String why) {
    exhaustions++;
    return new PoolExhaustedException(
        "no buffer for %d bytes: %s (budget %d, registered %d, leased %d, zombies %d)"
            .formatted(
                lengthBytes,
                why,
                settings.budgetBytes(),
                registeredBytes,
                leasedBytes,
                zombieBytes));
  }
}
