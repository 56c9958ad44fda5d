/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The slabs of a {@link BufferPool} by size class: which of them serves a request, how large the next one is, and which are given up.
 * The pool's lock guards all of it. Whoever takes slabs out ends them.
 */
final class Slabs {
  /**
   * The first slab of a class fills one huge page, unless it needs more for its first buffers. The kernel clears the pages of a
   * slab when it is registered, and 16 MiB take longer than most tasks read.
   */
  private static final int FIRST_SLAB_BYTES = 2 << 20;

  /** So many buffers whose length is a power of two fit the first slab of their class, and at least half of them of other lengths. */
  private static final int FIRST_BUFFERS = 4;

  /** From the smallest first slab to more than the largest that the settings can ask for. */
  private static final int MOST_DOUBLINGS = 10;

  private static final long LEAVING_NS = TimeUnit.SECONDS.toNanos(1);

  private final int slabBytes;
  private final SizeClasses classes;

  /** By class index; the last one has the slabs of a single buffer larger than any class. */
  private final List<SlabClass> byClass = new ArrayList<>();

  /** Slabs taken out of their classes, which lease nothing more and are given up when their last buffer is back. */
  private final List<Slab> leaving = new ArrayList<>();

  /** When the last one of these was taken out of its class, in {@link System#nanoTime}. */
  private long lastLeftNs;

  /** The slabs for buffers of one size, and the threads that want one at once, as tasks do that begin together. */
  static final class SlabClass {
    private final Deque<Slab> slabs = new ArrayDeque<>();

    /** Threads that register a slab. */
    int opening;

    /** Threads that wait for such a slab. */
    int waiting;

    void add(Slab slab) {
      slabs.addFirst(slab);
    }
  }

  /** At most so many bytes are one slab for several buffers; a power of two. */
  Slabs(int slabBytes) {
    this.slabBytes = slabBytes;
    this.classes = new SizeClasses(slabBytes);
    for (int i = 0; i <= classes.count(); i++) {
      byClass.add(new SlabClass());
    }
  }

  /** Length of the buffer that serves a request. */
  long bufferBytes(long lengthBytes) {
    return classes.bufferBytes(lengthBytes);
  }

  SlabClass classOf(long lengthBytes) {
    return byClass.get(
        classes.isPooled(lengthBytes) ? classes.indexOf(lengthBytes) : classes.count());
  }

  /** Returns the size of the next slab for buffers of this length. Those of a class grow with what is asked of it. */
  long nextBytes(long lengthBytes) {
    long bufferBytes = classes.bufferBytes(lengthBytes);
    if (!classes.isPooled(lengthBytes)) {
      return bufferBytes;
    }
    long first = Math.max(FIRST_SLAB_BYTES, FIRST_BUFFERS * Long.highestOneBit(bufferBytes));
    int doublings = Math.min(classOf(lengthBytes).slabs.size(), MOST_DOUBLINGS);
    return Math.min(slabBytes, first << doublings);
  }

  @Nullable
  Slab withFree(long lengthBytes) {
    for (Slab slab : classOf(lengthBytes).slabs) {
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

  /**
   * A slab of the smallest larger class that has a free buffer, at most {@code steps} classes above
   * that of the length. It wastes the least, and leaves the longest buffers to those that need them.
   */
  @Nullable
  Slab largerWithFree(long lengthBytes, int steps) {
    if (!classes.isPooled(lengthBytes)) {
      return null;
    }
    int own = classes.indexOf(lengthBytes);
    int end = (int) Math.min(own + 1L + steps, classes.count());
    return byClass.subList(own + 1, end).stream()
        .flatMap(slabClass -> slabClass.slabs.stream())
        .filter(Slab::hasFree)
        .findFirst()
        .orElse(null);
  }

  /** Takes out idle slabs, of any class, of so many bytes together or more; none if there are not as many. */
  List<Slab> takeIdle(long bytes) {
    long missing = bytes;
    List<Slab> idle = new ArrayList<>();
    for (SlabClass slabClass : byClass) {
      for (Slab slab : slabClass.slabs) {
        if (missing > 0 && slab.isIdle()) {
          idle.add(slab);
          missing -= slab.sizeBytes();
        }
      }
    }
    if (missing > 0) {
      return List.of();
    }
    takeOut(idle);
    return idle;
  }

  /** Takes out those that nobody has used for so long, and those that are leaving, as soon as they are idle. */
  List<Slab> takeUnused(long idleMs) {
    long thenNs = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(idleMs);
    List<Slab> unused = new ArrayList<>();
    byClass.forEach(slabClass ->
        slabClass.slabs.stream().filter(slab -> slab.isIdleSince(thenNs)).forEach(unused::add));
    leaving.stream().filter(Slab::isIdle).forEach(unused::add);
    takeOut(unused);
    leaving.removeAll(unused);
    return unused;
  }

  /**
   * Has the slab with the fewest leased buffers lease nothing more, unless another one has left its class within the last second and is
   * in use.
   */
  void haveOneLeave() {
    long nowNs = System.nanoTime();
    if (leaving.isEmpty() || nowNs - lastLeftNs > LEAVING_NS) {
      lastLeftNs = nowNs;
      byClass.stream()
          .flatMap(slabClass -> slabClass.slabs.stream())
          .min(Comparator.comparingInt(Slab::leasedBuffers))
          .ifPresent(leaving::add);
      takeOut(leaving);
    }
  }

  List<Slab> takeAll() {
    List<Slab> all = new ArrayList<>(leaving);
    byClass.forEach(slabClass -> all.addAll(slabClass.slabs));
    takeOut(all);
    leaving.clear();
    return all;
  }

  private void takeOut(List<Slab> slabs) {
    byClass.forEach(slabClass -> slabClass.slabs.removeAll(slabs));
  }
}
