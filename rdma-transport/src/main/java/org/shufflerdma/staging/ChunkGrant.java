/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import java.nio.ByteBuffer;
import org.shufflerdma.control.ProtocolException;

/**
 * The first sealed frame of a server: the registered memory that one reader's requests are staged in.
 * Each chunk is a credit. The reader names the chunk of a request, and uses it again when it has READ what
 * is in it, so it can neither overrun the memory nor be refused for want of it.
 *
 * <pre>
 *   | address (8) | key (4) | bytes of a chunk (4) | chunks (4) |
 * </pre>
 */
record ChunkGrant(long address, int rkey, int chunkBytes, int chunks) {
  static final int SIZE_BYTES = 20;
  private static final int MAX_CHUNKS = 4096;
  private static final int MAX_CHUNK_BYTES = 1 << 30;

  ByteBuffer encode() {
    return ByteBuffer.allocate(SIZE_BYTES)
        .putLong(address)
        .putInt(rkey)
        .putInt(chunkBytes)
        .putInt(chunks)
        .flip();
  }

  static ChunkGrant decode(ByteBuffer in) throws ProtocolException {
    if (in.remaining() != SIZE_BYTES) {
      throw new ProtocolException("a grant of " + in.remaining() + " bytes");
    }
    ChunkGrant grant = new ChunkGrant(in.getLong(), in.getInt(), in.getInt(), in.getInt());
    if (grant.chunkBytes() <= 0
        || grant.chunkBytes() > MAX_CHUNK_BYTES
        || grant.chunks() <= 0
        || grant.chunks() > MAX_CHUNKS) {
      throw new ProtocolException(
          grant.chunks() + " chunks of " + grant.chunkBytes() + " bytes are granted");
    }
    return grant;
  }

  long addressOf(int chunk) {
    return address + (long) chunk * chunkBytes;
  }
}
