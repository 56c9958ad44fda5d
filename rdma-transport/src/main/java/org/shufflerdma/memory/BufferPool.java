/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.memory.Slabs.SlabClass;
import org.shufflerdma.metrics.LatencyHistogram;
import org.shufflerdma.verbs.ProtectionDomain;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registered sinks for READs, by size class and within a byte budget. A slab is registered when a
 * class runs out, twice as large as the one before, cut into buffers of that class, and given up when it is idle and another class
 * needs its bytes. There may be more classes than slabs: where no slab more fits, a request may take
 * a buffer of a larger class, which goes back to that class. Any thread may call; the lock guards all
 * accounts and is never held while memory is registered, deregistered or unmapped. What comes back goes to whoever has waited longest
 * and can use it. Closed by its owner after all queue pairs are destroyed.
 */
public final class BufferPool implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(BufferPool.class);

  private static final int CLOSE_MS = 5_000;

  /** A device that takes longer to register a slab for another thread is not waited for. */
  private static final int OPENING_MS = 1_000;

  /** How many classes above its own a request looks before it has a slab of another class given up. */
  private static final int CHEAP_STEPS = 1;

  private final ProtectionDomain domain;
  private final PoolSettings settings;
  private final Slabs slabs;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  private final WaitingLine<RegisteredBuffer> line = new WaitingLine<>(changed);

  /** The kinds of pages (of the kernel's pool or not) that the log has mentioned. */
  private final Set<Boolean> loggedPages = new HashSet<>();

  private boolean closed;
  private long registeredBytes;

  /** The registered bytes that are being deregistered. */
  private long deregisteringBytes;

  /** Threads that register or deregister a slab now. */
  private int busyThreads;

  private long leasedBuffers;
  private long leasedBytes;
  private long zombieBuffers;
  private long zombieBytes;
  private long exhaustions;

  public BufferPool(ProtectionDomain domain, PoolSettings settings) {
    this.domain = domain;
    this.settings = settings;
    this.slabs = new Slabs(settings.slabBytes());
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
        && slabs.bufferBytes(lengthBytes) <= settings.budgetBytes();
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
      RegisteredBuffer buffer = line.await(() -> leaseNow(lengthBytes, deadline), deadline);
      if (buffer == null) {
        throw exhausted(lengthBytes, "no buffer came back in time");
      }
      return buffer;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Leases a buffer like {@link #acquire}; null if it would have to wait until one comes back, or if somebody who waits has not looked
   * yet since something has changed. It takes as long as the registration of a slab, or for at most a second that by another thread.
   */
  public @Nullable RegisteredBuffer tryAcquire(long lengthBytes) throws IOException {
    lock.lock();
    try {
      return line.haveLooked() ? leaseNow(lengthBytes, Deadline.afterMs(OPENING_MS)) : null;
    } finally {
      lock.unlock();
    }
  }

  /** The same, but ahead of those that wait: for something brief that cannot wait in line, and on which their tasks depend. */
  public @Nullable RegisteredBuffer tryAcquireFirst(long lengthBytes) throws IOException {
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
      Slab slab = slabs.withFree(lengthBytes);
      if (slab == null && awaitSlab(lengthBytes, opening)) {
        continue;
      }
      if (slab == null && reserve(slabs.nextBytes(lengthBytes))) {
        slab = openSlab(lengthBytes);
      }
      if (slab == null) {
        slab = slabs.largerWithFree(lengthBytes, CHEAP_STEPS);
      }
      if (slab != null) {
        return lease(slab);
      }
      List<Slab> inTheWay = takeIdleFor(slabs.nextBytes(lengthBytes));
      if (inTheWay.isEmpty()) {
        slab = slabs.largerWithFree(lengthBytes, Integer.MAX_VALUE);
        return slab == null ? null : lease(slab);
      }
      end(inTheWay);
    }
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
        registeredBytes - deregisteringBytes + bytes - settings.budgetBytes(),
        settings.memory().excessWith(bytes) - deregisteringBytes);
    return slabs.takeIdle(excess);
  }

  /**
   * Waits for a slab of this class that another thread is registering; false if there is none, if others take
   * all of its buffers, or if it does not come before the deadline or an interrupt, which the thread keeps.
   */
  private boolean awaitSlab(long lengthBytes, Deadline deadline) {
    SlabClass slabClass = slabs.classOf(lengthBytes);
    long buffers = slabs.nextBytes(lengthBytes) / slabs.bufferBytes(lengthBytes);
    long toSpare =
        slabClass.opening * (buffers - 1); // each slab has one for the thread that opens it
    if (slabClass.waiting >= toSpare) {
      return false;
    }
    slabClass.waiting++;
    try {
      do {
        if (changed.awaitNanos(deadline.remainingNs()) <= 0) {
          return false;
        }
      } while (!closed && slabClass.opening > 0 && slabs.withFree(lengthBytes) == null);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      slabClass.waiting--;
    }
  }

  private Slab openSlab(long lengthBytes) throws IOException {
    long slabBytes = slabs.nextBytes(lengthBytes);
    SlabClass slabClass = slabs.classOf(lengthBytes);
    Slab slab = null;
    slabClass.opening++;
    try {
      slab = unlocked(() -> Slab.open(domain, slabBytes, slabs.bufferBytes(lengthBytes), settings));
    } finally {
      slabClass.opening--;
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
    slabClass.add(slab);
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
      line.tellOfChange();
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
      line.tellOfChange();
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
    lock.lock();
    try {
      end(slabs.takeUnused(idleMs));
    } finally {
      lock.unlock();
    }
  }

  /**
   * Gives memory to others: all idle slabs, or if there is none, the one with the fewest leased buffers as soon as these are back, and
   * another one if that takes longer than a second. To be called from time to time for as long as others lack memory.
   */
  public void giveWay() {
    lock.lock();
    try {
      List<Slab> idle = slabs.takeUnused(0);
      if (idle.isEmpty()) {
        slabs.haveOneLeave();
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
  private void end(List<Slab> taken) {
    taken.forEach(slab -> deregisteringBytes += slab.sizeBytes());
    for (Slab slab : taken) {
      boolean deregistered = false;
      try {
        deregistered = unlocked(() -> {
          slab.deregister();
          return true;
        });
      } catch (IOException | RuntimeException e) {
        LOG.error("Leaking {} bytes that could not be deregistered", slab.sizeBytes(), e);
      }
      deregisteringBytes -= slab.sizeBytes();
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
    return line.waits();
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
      line.tellOfChange();
      if (leasedBuffers > 0) {
        LOG.warn(
            "The buffer pool is closed while {} buffers ({} bytes) have not been released",
            leasedBuffers,
            leasedBytes);
      }
      end(slabs.takeAll());
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
