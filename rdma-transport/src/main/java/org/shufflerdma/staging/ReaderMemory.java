/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.NativeMemory;
import org.shufflerdma.verbs.ProtectionDomain;

/** The registered chunks of one reader. Any thread may call; the owner closes it when nobody fills it. */
final class ReaderMemory implements AutoCloseable {
  private final NativeMemory memory;
  private final MemoryRegion region;
  private final int chunkBytes;

  private ReaderMemory(NativeMemory memory, MemoryRegion region, int chunkBytes) {
    this.memory = memory;
    this.region = region;
    this.chunkBytes = chunkBytes;
  }

  static ReaderMemory open(ProtectionDomain domain, StagingSettings settings) throws IOException {
    NativeMemory memory = NativeMemory.allocate(settings.bytesPerReader(), true);
    try {
      MemoryRegion region =
          domain.register(memory.address(), settings.bytesPerReader(), Access.REMOTE_READ);
      return new ReaderMemory(memory, region, settings.chunkBytes());
    } catch (Throwable t) {
      memory.close();
      throw t;
    }
  }

  ChunkGrant grant() {
    return new ChunkGrant(
        memory.address(), region.rkey(), chunkBytes, Math.toIntExact(memory.size() / chunkBytes));
  }

  ByteBuffer chunk(int index) {
    return memory.slice((long) index * chunkBytes, chunkBytes);
  }

  @Override
  public void close() throws IOException {
    region.close();
    memory.close();
  }
}
