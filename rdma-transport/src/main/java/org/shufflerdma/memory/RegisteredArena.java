/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.memory;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.NativeMemory;
import org.shufflerdma.verbs.ProtectionDomain;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Memory that peers may read and nobody may write remotely: small records are carved from
 * registered chunks, so that a record costs no registration of its own. Any thread may call. Closed
 * by its owner before the protection domain, when no record is published any more.
 */
public final class RegisteredArena implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RegisteredArena.class);
  private static final int MOST_CHUNK_BYTES = 1 << 20;

  /** The least number of chunks in a budget, so that a chunk is a small part of a small budget. */
  private static final int CHUNKS_PER_BUDGET = 8;

  /** Slices do not share a cache line, and every field in one is aligned. */
  private static final int ALIGNMENT_BYTES = 64;

  private static final byte[] ZEROS = new byte[4 << 10];

  private final ProtectionDomain domain;
  private final RegistrationBudget budget;
  private final AtomicLong registeredBytes = new AtomicLong();
  private final List<Chunk> chunks = new ArrayList<>();
  private boolean closed;

  /**
   * An empty one.
   *
   * @param budget that its chunks are taken from
   */
  public RegisteredArena(ProtectionDomain domain, RegistrationBudget budget) {
    this.domain = domain;
    this.budget = budget;
  }

  /**
   * Zeroed bytes for one record.
   *
   * @throws BudgetExhaustedException if a chunk more does not fit the budget
   */
  public synchronized ArenaSlice allocate(int lengthBytes) throws IOException {
    if (closed) {
      throw new IOException("the arena is closed");
    }
    long rounded = roundUp(lengthBytes);
    for (Chunk chunk : chunks) {
      long offset = chunk.free.take(rounded);
      if (offset >= 0) {
        return new ArenaSlice(chunk, offset, lengthBytes);
      }
    }
    Chunk chunk = openChunk(Math.max(chunkBytes(), rounded));
    chunks.add(chunk);
    registeredBytes.addAndGet(chunk.memory.size());
    return new ArenaSlice(chunk, chunk.free.take(rounded), lengthBytes);
  }

  private long chunkBytes() {
    long share = budget.pages(budget.limitBytes() / CHUNKS_PER_BUDGET);
    return Math.min(MOST_CHUNK_BYTES, share);
  }

  private Chunk openChunk(long chunkBytes) throws IOException {
    if (!budget.tryTake(chunkBytes)) {
      throw new BudgetExhaustedException(
          chunkBytes + " more bytes for descriptors exceed the budget: " + budget);
    }
    NativeMemory memory = null;
    try {
      memory = NativeMemory.allocate(chunkBytes, false);
      MemoryRegion region = domain.register(memory.address(), chunkBytes, Access.REMOTE_READ);
      return new Chunk(memory, region);
    } catch (Throwable t) {
      if (memory != null) {
        memory.close();
      }
      budget.giveBack(chunkBytes);
      throw t;
    }
  }

  /** Returns the budget from which its chunks, and other registrations of its owner, are taken. */
  public RegistrationBudget budget() {
    return budget;
  }

  public long registeredBytes() {
    return registeredBytes.get();
  }

  static long roundUp(int lengthBytes) {
    if (lengthBytes <= 0) {
      throw new IllegalArgumentException("a slice of " + lengthBytes + " bytes");
    }
    return (lengthBytes + ALIGNMENT_BYTES - 1L) & -ALIGNMENT_BYTES;
  }

  private synchronized void free(Chunk chunk, long offset, long lengthBytes) {
    if (closed) {
      return;
    }
    ByteBuffer bytes = chunk.view(offset, Math.toIntExact(lengthBytes));
    while (bytes.hasRemaining()) {
      bytes.put(ZEROS, 0, Math.min(bytes.remaining(), ZEROS.length));
    }
    chunk.free.giveBack(offset, lengthBytes);
    if (chunk.free.isAllFree() && chunks.size() > 1) {
      chunks.remove(chunk);
      chunk.close();
    }
  }

  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    chunks.forEach(Chunk::close);
    chunks.clear();
  }

  final class Chunk {
    private final NativeMemory memory;
    private final MemoryRegion region;
    private final FreeRanges free;

    private Chunk(NativeMemory memory, MemoryRegion region) {
      this.memory = memory;
      this.region = region;
      this.free = new FreeRanges(memory.size());
    }

    long address() {
      return memory.address();
    }

    int rkey() {
      return region.rkey();
    }

    ByteBuffer view(long offset, int lengthBytes) {
      return memory.slice(offset, lengthBytes);
    }

    void free(long offset, long lengthBytes) {
      RegisteredArena.this.free(this, offset, lengthBytes);
    }

    private void close() {
      registeredBytes.addAndGet(-memory.size());
      try {
        region.close();
        memory.close();
        budget.giveBack(memory.size());
      } catch (IOException e) {
        LOG.error("Leaking {} bytes that could not be deregistered", memory.size(), e);
      }
    }
  }
}
