/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.shufflerdma.verbs.Dispatcher.DISNI;

import java.lang.ref.Reference;

/** A completion queue; one thread polls it. Closed after its queue pairs and before its channel. */
public final class CompletionQueue extends NativeObject {
  private final int capacity;

  CompletionQueue(long handle) {
    super(handle);
    this.capacity = Natives.completionQueueCapacity(handle);
  }

  /** How many completions it holds, at least what was asked for. */
  public int capacity() {
    return capacity;
  }

  /** Takes up to {@code out.capacity()} completions without waiting; how many there were. */
  public int poll(CompletionBatch out) throws VerbsException {
    int polled;
    try {
      polled = Natives.pollCompletions(handle(), out.capacity(), out.address());
    } finally {
      Reference.reachabilityFence(out);
    }
    if (polled < 0) { // a verb without errno: providers return whatever is negative
      throw VerbsException.of("ibv_poll_cq", Errno.EIO, ": it returned " + polled);
    }
    out.size(polled);
    return polled;
  }

  /** Arms one event on the channel for the next completion. Poll once more after arming. */
  public void requestNotify(boolean solicitedOnly) throws VerbsException {
    check("ibv_req_notify_cq", DISNI._reqNotifyCQ(handle(), solicitedOnly ? 1 : 0));
  }

  @Override
  void release(long handle) throws VerbsException {
    check("ibv_destroy_cq", DISNI._destroyCQ(handle));
  }
}
