/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import org.shufflerdma.verbs.MemoryRegion;

/** What a READ names: memory that this or another process has registered. */
record RemoteMemory(long address, int rkey, long length) {
  static RemoteMemory of(MemoryRegion region) {
    return new RemoteMemory(region.address(), region.rkey(), region.length());
  }
}
