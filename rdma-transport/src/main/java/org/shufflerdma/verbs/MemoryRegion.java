/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.shufflerdma.verbs.Dispatcher.DISNI;

/**
 * A registered memory region. Its owner closes it when no work request uses it any more. After
 * close has returned, no peer can read it.
 */
public final class MemoryRegion extends NativeObject {
  private final long address;
  private final long length;
  private final int access;
  private final int lkey;
  private final int rkey;

  MemoryRegion(long handle, long address, long length, int access) {
    super(handle);
    this.address = address;
    this.length = length;
    this.access = access;
    this.lkey = Natives.memoryKey(handle, false);
    this.rkey = Natives.memoryKey(handle, true);
  }

  public long address() {
    return address;
  }

  public long length() {
    return length;
  }

  /** Returns the {@link Access} flags of the registration. */
  public int access() {
    return access;
  }

  /** Returns the key that names the region in this process's own work requests. */
  public int lkey() {
    return lkey;
  }

  /**
   * Returns the key that names the region in the work requests of peers. It differs from {@link
   * #lkey}.
   */
  public int rkey() {
    return rkey;
  }

  @Override
  void release(long handle) throws VerbsException {
    DISNI._deregMr(handle);
  }
}
