/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.io.IOException;
import org.shufflerdma.verbs.NativeMemory;

/** Where a {@link BufferPool} takes the memory of its slabs from. Any thread may call; the pool's lock may be held. */
public interface SlabMemory {
  /** Memory of the process, without another limit than the pool's own. */
  SlabMemory OF_PROCESS = NativeMemory::allocate;

  /** Allocates memory, which the pool closes. */
  NativeMemory allocate(long bytes, boolean hugePages) throws IOException;

  /** Takes room that several pools share; false if there is none now. */
  default boolean tryTake(long bytes) {
    return true;
  }

  /** How many bytes less the pools must have, so that there is room for so many; at most 0 if there is. */
  default long excessWith(long bytes) {
    return 0;
  }

  default void giveBack(long bytes) {}
}
