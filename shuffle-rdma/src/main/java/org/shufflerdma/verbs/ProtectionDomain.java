/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.shufflerdma.verbs.Dispatcher.DISNI;

import java.util.Objects;

/** A protection domain. Closed last, after its regions and queue pairs. Thread safe. */
public final class ProtectionDomain extends NativeObject {
  ProtectionDomain(long handle) {
    super(handle);
  }

  /** Registers memory; {@code access} are {@link Access} flags. The memory must outlive the region. */
  public MemoryRegion register(long address, long length, int access) throws VerbsException {
    requirePositive(length);
    try {
      return new MemoryRegion(
          Natives.registerMemory(handle(), address, length, access), address, length, access);
    } catch (VerbsException e) {
      throw explained(e);
    }
  }

  /**
   * Registers a range of a mapped file. The software device serves it from the file itself. The
   * mapping and the descriptor may be closed while the region lives; its bytes stay readable.
   */
  public MemoryRegion register(MappedFile file, long offset, long length, int access)
      throws VerbsException {
    requirePositive(length);
    Objects.checkFromIndexSize(offset, length, file.size());
    long address = file.address() + offset;
    try {
      return new MemoryRegion(
          Natives.registerFile(handle(), address, length, file.descriptor(), offset, access),
          address,
          length,
          access);
    } catch (VerbsException e) {
      throw explained(e);
    }
  }

  private static void requirePositive(long length) {
    if (length <= 0) {
      throw new IllegalArgumentException("length is " + length + ", must be positive");
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
    check("ibv_dealloc_pd", DISNI._deallocPd(handle));
  }
}
