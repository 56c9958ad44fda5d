/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A chained list of RDMA READ work requests with one scatter/gather entry each, built in native
 * memory without objects. Owned by one thread at a time.
 *
 * <pre>
 * work request i at 128 * i               entry i at 128 * capacity + 16 * i
 *    0  u64 wr_id     24  i32 num_sge        0  u64 addr
 *    8  ptr next      28  i32 opcode         8  u32 length
 *   16  ptr sg_list   32  u32 send_flags    12  u32 lkey
 *                     40  u64 remote_addr
 *                     48  u32 rkey
 * </pre>
 *
 * (struct ibv_send_wr and ibv_sge; asserted in read_batch.c.)
 */
public final class ReadBatch {
  private static final int WR_BYTES = 128;
  private static final int SGE_BYTES = 16;
  private static final int NEXT = 8;
  private static final int SG_LIST = 16;
  private static final int NUM_SGE = 24;
  private static final int OPCODE = 28;
  private static final int SEND_FLAGS = 32;
  private static final int REMOTE_ADDR = 40;
  private static final int RKEY = 48;
  private static final int SGE_LENGTH = 8;
  private static final int SGE_LKEY = 12;
  private static final int IBV_WR_RDMA_READ = 4;
  private static final int IBV_SEND_SIGNALED = 2;

  private final int capacity;
  private final ByteBuffer memory;
  private final long address;
  private int size;

  public ReadBatch(int capacity) {
    if (capacity <= 0) {
      throw new IllegalArgumentException("capacity is " + capacity + ", must be positive");
    }
    this.capacity = capacity;
    this.memory = ByteBuffer.allocateDirect(Math.multiplyExact(capacity, WR_BYTES + SGE_BYTES))
        .order(ByteOrder.nativeOrder());
    this.address = Natives.bufferAddress(memory);
    for (int i = 0; i < capacity; i++) {
      int wr = i * WR_BYTES;
      memory.putLong(wr + SG_LIST, address + sge(i));
      memory.putInt(wr + NUM_SGE, 1);
      memory.putInt(wr + OPCODE, IBV_WR_RDMA_READ);
    }
  }

  public void clear() {
    size = 0;
  }

  public int size() {
    return size;
  }

  public int capacity() {
    return capacity;
  }

  /** Appends a READ to the list; {@code length} is unsigned. */
  public void add(
      long wrId,
      long localAddress,
      int lkey,
      int length,
      long remoteAddress,
      int rkey,
      boolean signaled) {
    if (size == capacity) {
      throw new IllegalStateException("the batch is full at " + capacity + " work requests");
    }
    int wr = size * WR_BYTES;
    memory.putLong(wr, wrId);
    memory.putLong(wr + NEXT, 0);
    memory.putInt(wr + SEND_FLAGS, signaled ? IBV_SEND_SIGNALED : 0);
    memory.putLong(wr + REMOTE_ADDR, remoteAddress);
    memory.putInt(wr + RKEY, rkey);
    int sge = sge(size);
    memory.putLong(sge, localAddress);
    memory.putInt(sge + SGE_LENGTH, length);
    memory.putInt(sge + SGE_LKEY, lkey);
    if (size > 0) {
      memory.putLong(wr - WR_BYTES + NEXT, address + wr);
    }
    size++;
  }

  long firstWorkRequest() {
    return address;
  }

  private int sge(int index) {
    return capacity * WR_BYTES + index * SGE_BYTES;
  }
}
