/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The completions of one poll, read in place from native memory: no object per completion. Of a
 * failed completion only these four fields mean anything. Used by one thread at a time.
 *
 * <pre>
 * struct ibv_wc, 48 bytes:  0 u64 wr_id   8 u32 status   16 u32 vendor_err   28 u32 qp_num
 * </pre>
 */
public final class CompletionBatch {
  private static final int WC_BYTES = 48;
  private static final int STATUS = 8;
  private static final int VENDOR_ERR = 16;
  private static final int QP_NUM = 28;

  private final int capacity;
  private final ByteBuffer memory;
  private final long address;
  private int size;

  public CompletionBatch(int capacity) {
    if (capacity <= 0) {
      throw new IllegalArgumentException("capacity is " + capacity + ", must be positive");
    }
    this.capacity = capacity;
    this.memory = ByteBuffer.allocateDirect(Math.multiplyExact(capacity, WC_BYTES))
        .order(ByteOrder.nativeOrder());
    this.address = Natives.bufferAddress(memory);
  }

  public int capacity() {
    return capacity;
  }

  public int size() {
    return size;
  }

  public long wrId(int index) {
    return memory.getLong(record(index));
  }

  /** Returns the status of a completion; {@link WcStatus} names the values. */
  public int status(int index) {
    return memory.getInt(record(index) + STATUS);
  }

  public int vendorError(int index) {
    return memory.getInt(record(index) + VENDOR_ERR);
  }

  public int qpNum(int index) {
    return memory.getInt(record(index) + QP_NUM);
  }

  long address() {
    return address;
  }

  void size(int polled) {
    size = polled;
  }

  private int record(int index) {
    if (index < 0 || index >= size) {
      throw new IndexOutOfBoundsException("completion " + index + " of " + size);
    }
    return index * WC_BYTES;
  }
}
