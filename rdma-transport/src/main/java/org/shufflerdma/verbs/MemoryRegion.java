/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.shufflerdma.verbs.Dispatcher.DISNI;

/**
 * A registered memory region. Its owner closes it when no work request uses it any more; after close
 * returned no peer can read it.
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

  /** What it was registered with: {@link Access} flags. */
  public int access() {
    return access;
  }

  /** Names the region in our own work requests. */
  public int lkey() {
    return lkey;
  }

  /** Names the region in the work requests of peers. Not the same as {@link #lkey}. */
  public int rkey() {
    return rkey;
  }

  @Override
  void release(long handle) throws VerbsException {
    DISNI._deregMr(handle);
  }
}
