/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.shufflerdma.verbs.Dispatcher.DISNI;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A protection domain. It is closed last, after its regions and queue pairs. Thread-safe.
 *
 * <p>Nothing else in this project registers memory, so this class ensures least access: a region
 * can be read by peers, or written by this process's own READs. Memory that a peer could write
 * cannot be registered.
 */
public final class ProtectionDomain extends NativeObject {
  /** Registrations in progress; while there are any, the domain cannot be closed. */
  private final AtomicInteger registering = new AtomicInteger();

  ProtectionDomain(long handle) {
    super(handle);
  }

  /**
   * Registers memory, which must outlive the region.
   *
   * @param access REMOTE_READ, also ON_DEMAND; or LOCAL_WRITE, also with RELAXED_ORDERING
   */
  public MemoryRegion register(long address, long length, int access) throws VerbsException {
    requirePositive(length);
    requireLeast(access);
    registering.incrementAndGet();
    try {
      return new MemoryRegion(
          Natives.registerMemory(handle(), address, length, access), address, length, access);
    } catch (VerbsException e) {
      throw explained(e);
    } finally {
      registering.decrementAndGet();
    }
  }

  /**
   * Returns what a registered file keeps of this process's descriptors and mappings.
   *
   * @param access that of {@link #register(MappedFile, long, long, int)}
   */
  public FileRegionCost costOfFile(int access) {
    if (Natives.servesFiles()) {
      return FileRegionCost.SOFT;
    }
    return (access & Access.ON_DEMAND) == 0 ? FileRegionCost.PINNED : FileRegionCost.ON_DEMAND;
  }

  /**
   * Registers a range of a mapped file. The descriptor of the file may be closed while the region lives, and
   * so may the mapping unless {@link #costOfFile} counts it: the pages of a pinned region stay, whether or
   * not they are mapped or have a name.
   *
   * @param access REMOTE_READ, also ON_DEMAND
   */
  public MemoryRegion register(MappedFile file, long offset, long length, int access)
      throws VerbsException {
    requirePositive(length);
    requireLeast(access);
    Objects.checkFromIndexSize(offset, length, file.size());
    long address = file.address() + offset;
    registering.incrementAndGet();
    try {
      return new MemoryRegion(
          Natives.registerFile(handle(), address, length, file.descriptor(), offset, access),
          address,
          length,
          access);
    } catch (VerbsException e) {
      throw explained(e);
    } finally {
      registering.decrementAndGet();
    }
  }

  private static void requirePositive(long length) {
    if (length <= 0) {
      throw new IllegalArgumentException("length is " + length + ", must be positive");
    }
  }

  private static void requireLeast(int access) {
    boolean readByPeers = (access & ~Access.ON_DEMAND) == Access.REMOTE_READ;
    boolean sinkOfReads = (access & ~Access.RELAXED_ORDERING) == Access.LOCAL_WRITE;
    if (!readByPeers && !sinkOfReads) {
      throw new IllegalArgumentException(
          "access 0x%x: a region is read by peers (0x%x) or written by own READs (0x%x), no more"
              .formatted(access, Access.REMOTE_READ, Access.LOCAL_WRITE));
    }
  }

  private static VerbsException explained(VerbsException e) {
    if (e.errno() != Errno.ENOMEM) {
      return e;
    }
    VerbsException explained =
        VerbsException.of(e.call(), e.errno(), MemlockLimit.read().remedy());
    explained.initCause(e);
    return explained;
  }

  @Override
  void release(long handle) throws VerbsException {
    if (registering.get() > 0) {
      throw VerbsException.of("ibv_dealloc_pd", Errno.EBUSY, ": memory is being registered");
    }
    check("ibv_dealloc_pd", DISNI._deallocPd(handle));
  }
}
