/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.NativeMemory;
import org.shufflerdma.verbs.ProtectionDomain;

/**
 * One registration of a {@link BufferPool}, cut into buffers of one size. The pool's lock guards
 * the account of which are free.
 */
final class Slab {
  private final NativeMemory memory;
  private final MemoryRegion region;
  private final long bufferBytes;
  private final BitSet free;
  private final int bufferCount;
  private int freeCount;
  private long idleSinceNs;
  private boolean deregistered;

  private Slab(NativeMemory memory, MemoryRegion region, long bufferBytes) {
    this.memory = memory;
    this.region = region;
    this.bufferBytes = bufferBytes;
    this.bufferCount = Math.toIntExact(memory.size() / bufferBytes);
    this.freeCount = bufferCount;
    this.free = new BitSet(bufferCount);
    free.set(0, bufferCount);
  }

  static Slab open(ProtectionDomain domain, long slabBytes, long bufferBytes, PoolSettings settings)
      throws IOException {
    NativeMemory memory = settings.memory().allocate(slabBytes, settings.hugePages());
    try {
      int access =
          Access.LOCAL_WRITE | (settings.relaxedOrdering() ? Access.RELAXED_ORDERING : Access.NONE);
      MemoryRegion region = domain.register(memory.address(), slabBytes, access);
      return new Slab(memory, region, bufferBytes);
    } catch (Throwable t) {
      memory.close();
      throw t;
    }
  }

  long address() {
    return memory.address();
  }

  /** The file that the memory is; null if it is none. */
  @Nullable
  Path file() {
    return memory.file();
  }

  /** Returns the access flags of its region. */
  int access() {
    return region.access();
  }

  int lkey() {
    return region.lkey();
  }

  long bufferBytes() {
    return bufferBytes;
  }

  long sizeBytes() {
    return memory.size();
  }

  boolean isOfReservedPages() {
    return memory.isOfReservedPages();
  }

  ByteBuffer view(long offsetBytes, int lengthBytes) {
    return memory.slice(offsetBytes, lengthBytes);
  }

  boolean hasFree() {
    return freeCount > 0;
  }

  int leasedBuffers() {
    return bufferCount - freeCount;
  }

  boolean isIdle() {
    return freeCount == bufferCount;
  }

  boolean isIdleSince(long thenNs) {
    return isIdle() && idleSinceNs - thenNs <= 0;
  }

  /** Offset of a buffer that was free. */
  long take() {
    int index = free.nextSetBit(0);
    free.clear(index);
    freeCount--;
    return index * bufferBytes;
  }

  void putBack(long offsetBytes, long nowNs) {
    int index = Math.toIntExact(offsetBytes / bufferBytes);
    if (free.get(index)) {
      throw new IllegalStateException("buffer " + index + " came back twice");
    }
    free.set(index);
    freeCount++;
    idleSinceNs = nowNs;
  }

  /**
   * Ends the device's access; the memory stays mapped for the views of buffers still leased. May take
   * long: the pool calls it without its lock.
   */
  void deregister() throws IOException {
    region.close();
  }

  /** The device's access has ended. */
  void deregistered() {
    deregistered = true;
  }

  /** Neither the device nor a lease can reach the memory any more. */
  boolean isToBeUnmapped() {
    return deregistered && isIdle();
  }

  void unmap() throws IOException {
    memory.close();
  }
}
