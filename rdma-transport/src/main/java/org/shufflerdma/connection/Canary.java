/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
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
  /** At least four packets, whatever the MTU, of which InfiniBand and RoCE know none above 4096 bytes. */
  static final int SIZE_BYTES = 16 << 10;

  static Canary open(ProtectionDomain domain, Nonce bootNonce) throws IOException {
    NativeMemory memory = NativeMemory.allocate(SIZE_BYTES, false);
    try {
      ByteBuffer bytes = memory.slice(0, SIZE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
      bytes.asLongBuffer().put(words(bootNonce));
      MemoryRegion region = domain.register(memory.address(), SIZE_BYTES, Access.REMOTE_READ);
      return new Canary(memory, region);
    } catch (Throwable t) {
      memory.close();
      throw t;
    }
  }

  static boolean matches(ByteBuffer read, Nonce bootNonce) {
    ByteBuffer bytes = read.slice().order(ByteOrder.LITTLE_ENDIAN);
    return bytes.remaining() == SIZE_BYTES
        && bytes.asLongBuffer().equals(LongBuffer.wrap(words(bootNonce)));
  }

  long address() {
    return memory.address();
  }

  int rkey() {
    return region.rkey();
  }

  /**
   * The finalizer of SplitMix64 over the nonce and each word's index. The words go to memory, and are
   * compared, as a whole, because a new executor interprets this code.
   */
  private static long[] words(Nonce nonce) {
    long high = nonce.high();
    long low = nonce.low();
    long[] words = new long[SIZE_BYTES / Long.BYTES];
    for (int i = 0; i < words.length; i++) {
      long mixed = high + (i + 1) * 0x9E3779B97F4A7C15L;
      mixed = (mixed ^ (mixed >>> 30)) * 0xBF58476D1CE4E5B9L;
      mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
      words[i] = mixed ^ (mixed >>> 31) ^ low;
    }
    return words;
  }

  @Override
  public void close() throws IOException {
    region.close();
    memory.close();
  }
}
