/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.shufflerdma.memory.FreeRanges;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.NativeMemory;
import org.shufflerdma.verbs.ProtectionDomain;

/**
 * Registered memory that a {@link LendingDesk} lends parts of. The desk owns it, and calls with its lock held, but
 * to open and to close it.
 */
final class StagingSlab implements AutoCloseable {
  /** Loans do not share a cache line. */
  private static final int ALIGNMENT_BYTES = 64;

  private final NativeMemory memory;
  private final MemoryRegion region;
  private final FreeRanges free;
  private int loans;
  private long idleSinceNs = System.nanoTime();

  /** Until when READs of loans that were not returned may be under way, in {@link System#nanoTime}. */
  private long restsUntilNs = System.nanoTime();

  private boolean isLeaving;

  private StagingSlab(NativeMemory memory, MemoryRegion region) {
    this.memory = memory;
    this.region = region;
    this.free = new FreeRanges(memory.size());
  }

  static StagingSlab open(ProtectionDomain domain, long bytes) throws IOException {
    NativeMemory memory = NativeMemory.allocate(bytes, true);
    try {
      return new StagingSlab(memory, domain.register(memory.address(), bytes, Access.REMOTE_READ));
    } catch (Throwable t) {
      memory.close();
      throw t;
    }
  }

  /** Lends so many bytes, and returns where they begin; -1 if no gap is as wide, or the slab is leaving. */
  long lend(int bytes) {
    long offset = isLeaving ? -1 : free.take(rounded(bytes));
    loans += offset < 0 ? 0 : 1;
    return offset;
  }

  /** Takes back what is behind the first {@code keptBytes} of a loan. */
  void takeBackTail(long offset, int lentBytes, int keptBytes) {
    long kept = rounded(keptBytes);
    long tail = rounded(lentBytes) - kept;
    if (tail > 0) {
      free.giveBack(offset + kept, tail);
    }
  }

  /** Ends a loan, of which {@code keptBytes} are left. */
  void takeBack(long offset, int keptBytes) {
    if (keptBytes > 0) {
      free.giveBack(offset, rounded(keptBytes));
    }
    loans--;
    idleSinceNs = System.nanoTime();
  }

  private static long rounded(int bytes) {
    return (bytes + ALIGNMENT_BYTES - 1L) & -ALIGNMENT_BYTES;
  }

  long address(long offset) {
    return memory.address() + offset;
  }

  int rkey() {
    return region.rkey();
  }

  ByteBuffer view(long offset, int bytes) {
    return memory.slice(offset, bytes);
  }

  int loans() {
    return loans;
  }

  /** Lends nothing any more. */
  void leave() {
    isLeaving = true;
  }

  boolean isLeaving() {
    return isLeaving;
  }

  void restUntil(long timeNs) {
    restsUntilNs = timeNs;
  }

  /** Whether nobody may be reading from it at that point in {@link System#nanoTime}. */
  boolean isAtRest(long nowNs) {
    return loans == 0 && nowNs - restsUntilNs >= 0;
  }

  /** Whether it has lent nothing for so long. */
  boolean isUnused(long nowNs, long longerThanNs) {
    return isAtRest(nowNs) && nowNs - idleSinceNs > longerThanNs;
  }

  @Override
  public void close() throws IOException {
    region.close();
    memory.close();
  }
}
