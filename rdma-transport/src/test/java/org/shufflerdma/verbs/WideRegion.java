/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

/** What the product never registers: memory that peers may do anything to. */
public final class WideRegion {
  private static final int EVERYTHING =
      Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC;

  private WideRegion() {}

  public static MemoryRegion register(ProtectionDomain domain, NativeMemory memory)
      throws VerbsException {
    return new MemoryRegion(
        Natives.registerMemory(domain.handle(), memory.address(), memory.size(), EVERYTHING),
        memory.address(),
        memory.size(),
        EVERYTHING);
  }
}
