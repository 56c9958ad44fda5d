/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.NativeMemory;
import org.shufflerdma.verbs.ProtectionDomain;

/**
 * A region that every peer reads once after connecting: its bytes follow from the boot nonce, so a
 * READ that brings them proves both the path, at a length that shows MTU trouble, and the process
 * at its other end.
 */
record Canary(NativeMemory memory, MemoryRegion region) implements AutoCloseable {
  static final int SIZE_BYTES = 64 << 10;

  static Canary open(ProtectionDomain domain, Nonce bootNonce) throws IOException {
    NativeMemory memory = NativeMemory.allocate(SIZE_BYTES, false);
    try {
      ByteBuffer bytes = memory.slice(0, SIZE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
      for (int i = 0; i < SIZE_BYTES / Long.BYTES; i++) {
        bytes.putLong(word(bootNonce, i));
      }
      MemoryRegion region = domain.register(memory.address(), SIZE_BYTES, Access.REMOTE_READ);
      return new Canary(memory, region);
    } catch (Throwable t) {
      memory.close();
      throw t;
    }
  }

  static boolean matches(ByteBuffer read, Nonce bootNonce) {
    ByteBuffer bytes = read.slice().order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.remaining() != SIZE_BYTES) {
      return false;
    }
    for (int i = 0; i < SIZE_BYTES / Long.BYTES; i++) {
      if (bytes.getLong() != word(bootNonce, i)) {
        return false;
      }
    }
    return true;
  }

  long address() {
    return memory.address();
  }

  int rkey() {
    return region.rkey();
  }

  /** The finalizer of SplitMix64 over the nonce and the word's index. */
  private static long word(Nonce nonce, int index) {
    long mixed = nonce.high() + (index + 1) * 0x9E3779B97F4A7C15L;
    mixed = (mixed ^ (mixed >>> 30)) * 0xBF58476D1CE4E5B9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
    return mixed ^ (mixed >>> 31) ^ nonce.low();
  }

  @Override
  public void close() throws IOException {
    region.close();
    memory.close();
  }
}
