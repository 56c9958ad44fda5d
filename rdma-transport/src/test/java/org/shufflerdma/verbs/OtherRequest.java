/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** What the product never posts: a READ whose work request is changed to another one of 8 bytes. */
public enum OtherRequest {
  WRITE(0),
  READ(4),
  FETCH_AND_ADD(6);

  public static final int BYTES = 8;

  /* Of struct ibv_send_wr. */
  private static final int WR_BYTES = 128;
  private static final int OPCODE = 28;
  private static final int RKEY_OF_ATOMIC = 64;

  private final int opcode;

  OtherRequest(int opcode) {
    this.opcode = opcode;
  }

  /** Posts it, and polls its status. */
  public int statusOn(QueuePair pair, CompletionQueue queue, MemoryRegion own, MemoryRegion remote)
      throws VerbsException {
    ReadBatch batch = new ReadBatch(1);
    batch.add(1, own.address(), own.lkey(), BYTES, remote.address(), remote.rkey(), true);
    try {
      ByteBuffer request =
          Natives.directBuffer(batch.firstWorkRequest(), WR_BYTES).order(ByteOrder.nativeOrder());
      request.putInt(OPCODE, opcode);
      if (this == FETCH_AND_ADD) {
        request.putInt(RKEY_OF_ATOMIC, remote.rkey());
      }
      pair.postReads(batch);
    } finally {
      Reference.reachabilityFence(batch);
    }
    CompletionBatch completions = new CompletionBatch(1);
    long deadlineNs = System.nanoTime() + Loopback.TIMEOUT_MS * 1_000_000L;
    while (queue.poll(completions) == 0) {
      if (System.nanoTime() > deadlineNs) {
        throw new AssertionError(this + " did not complete in time");
      }
      Thread.onSpinWait();
    }
    return completions.status(0);
  }
}
