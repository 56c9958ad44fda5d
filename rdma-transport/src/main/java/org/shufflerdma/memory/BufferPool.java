/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.verbs.ProtectionDomain;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registered sinks for READs, by size class and within a byte budget. A slab is registered when a
 * class runs out, cut into buffers of that class, and given up when it is idle and another class
 * needs its bytes. Any thread may call; the lock guards all accounts and is never held while memory
 * is registered. Closed by its owner after all queue pairs are destroyed.
 */
public final class BufferPool implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(BufferPool.class);

  private final ProtectionDomain domain;
  private final PoolSettings settings;
  private final SizeClasses classes;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition bufferCameBack = lock.newCondition();

  /** By class index; the last one holds the slabs of a single buffer larger than any class. */
  private final List<Deque<Slab>> slabsByClass = new ArrayList<>();

  /** Whether of the kernel's pool; what the log has said. */
  private final Set<Boolean> pagesSaid = new HashSet<>();

  private boolean closed;
  private long registeredBytes;
  private long leasedBuffers;
  private long leasedBytes;
  private long zombieBuffers;
  private long zombieBytes;
  private long exhaustions;

  public BufferPool(ProtectionDomain domain, PoolSettings settings) {
    this.domain = domain;
    this.settings = settings;
    this.classes = new SizeClasses(settings.slabBytes());
    for (int i = 0; i <= classes.count(); i++) {
      slabsByClass.add(new ArrayDeque<>());
    }
  }

  /** Longest buffer that shares its registration with others. */
  public int slabBytes() {
    return settings.slabBytes();
  }

  /** Whether a request of this length can ever be served. */
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
      while (true) {
        checkOpen();
        Slab slab = slabWithFree(lengthBytes);
        if (slab == null && reserve(slabBytesFor(lengthBytes))) {
          slab = openSlab(lengthBytes);
        }
        if (slab != null) {
          return lease(slab);
        }
        long remainingNs = deadline.remainingNs();
        if (remainingNs == 0) {
          throw exhausted(lengthBytes, "no buffer came back in time");
        }
        bufferCameBack.awaitNanos(remainingNs);
      }
    } finally {
      lock.unlock();
    }
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
    return slabsByClass.get(
        classes.isPooled(lengthBytes) ? classes.indexOf(lengthBytes) : classes.count());
  }

  private long slabBytesFor(long lengthBytes) {
    return classes.isPooled(lengthBytes) ? settings.slabBytes() : classes.bufferBytes(lengthBytes);
  }

  /** Takes bytes of the budget, from idle slabs of any class if need be. */
  private boolean reserve(long bytes) throws IOException {
    for (Deque<Slab> slabs : slabsByClass) {
      Iterator<Slab> iterator = slabs.iterator();
      while (registeredBytes + bytes > settings.budgetBytes() && iterator.hasNext()) {
        Slab slab = iterator.next();
        if (slab.isIdle()) {
          iterator.remove();
          discard(slab);
        }
      }
    }
    if (registeredBytes + bytes > settings.budgetBytes()) {
      return false;
    }
    registeredBytes += bytes;
    return true;
  }

  private Slab openSlab(long lengthBytes) throws IOException {
    long slabBytes = slabBytesFor(lengthBytes);
    Slab slab = null;
    lock.unlock();
    try {
      slab = Slab.open(domain, slabBytes, classes.bufferBytes(lengthBytes), settings);
    } finally {
      lock.lock();
      if (slab == null) {
        registeredBytes -= slabBytes;
        bufferCameBack.signalAll();
      }
    }
    if (closed) {
      discard(slab);
      checkOpen();
    }
    sayPages(slab);
    slabsFor(lengthBytes).addFirst(slab);
    return slab;
  }

  private void sayPages(Slab slab) {
    if (settings.hugePages() && pagesSaid.add(slab.isOfReservedPages())) {
      LOG.info(
          "Fetch buffers are in huge pages, {}",
          slab.isOfReservedPages()
              ? "of the kernel's pool (vm.nr_hugepages)"
              : "transparent ones where the kernel has them: its pool (vm.nr_hugepages) had none");
    }
  }

  private RegisteredBuffer lease(Slab slab) {
    leasedBuffers++;
    leasedBytes += slab.bufferBytes();
    return new RegisteredBuffer(this, slab, slab.take());
  }

  /** The one transition to FREE; called once per lease, by whoever let go last. */
  void takeBack(Slab slab, long slabOffset, boolean wasZombie) {
    lock.lock();
    try {
      leasedBuffers--;
      leasedBytes -= slab.bufferBytes();
      if (wasZombie) {
        zombieBuffers--;
        zombieBytes -= slab.bufferBytes();
      }
      slab.putBack(slabOffset, System.nanoTime());
      if (closed) {
        unmapIfIdle(slab);
      }
      bufferCameBack.signalAll();
    } finally {
      lock.unlock();
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

  /** Gives up slabs that nobody has used for {@code idleMs}. */
  public void trim(long idleMs) {
    long thenNs = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(idleMs);
    lock.lock();
    try {
      for (Deque<Slab> slabs : slabsByClass) {
        slabs.removeIf(slab -> {
          boolean idle = slab.isIdleSince(thenNs);
          if (idle) {
            discard(slab);
          }
          return idle;
        });
      }
    } finally {
      lock.unlock();
    }
  }

  /** Memory of buffers still leased stays mapped; what the device keeps stays mapped and counted. */
  private void discard(Slab slab) {
    try {
      slab.deregister();
    } catch (IOException e) {
      LOG.error("Leaking {} bytes that could not be deregistered", slab.sizeBytes(), e);
      return;
    }
    registeredBytes -= slab.sizeBytes();
    unmapIfIdle(slab);
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
    lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      if (leasedBuffers > 0) {
        LOG.warn(
            "Closing the buffer pool with {} buffers ({} bytes) not released",
            leasedBuffers,
            leasedBytes);
      }
      for (Deque<Slab> slabs : slabsByClass) {
        for (Slab slab : slabs) {
          discard(slab);
        }
        slabs.clear();
      }
      bufferCameBack.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private static void unmapIfIdle(Slab slab) {
    if (!slab.isIdle()) {
      return;
    }
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
