/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.shufflerdma.verbs.Dispatcher.DISNI;

import java.lang.ref.Reference;

/** A completion queue; one thread at a time polls it. Closed after its queue pairs and before its channel. */
public final class CompletionQueue extends NativeObject {
  private volatile int capacity;

  CompletionQueue(long handle) {
    super(handle);
    this.capacity = Natives.completionQueueCapacity(handle);
  }

  /** Returns how many completions the queue holds, which is at least the requested number. */
  public int capacity() {
    return capacity;
  }

  /**
   * Makes the queue hold at least so many completions; those in it stay. Other threads may poll meanwhile. Not every
   * provider has this verb.
   */
  public void resize(int entries) throws VerbsException {
    check("ibv_resize_cq", Natives.resizeCompletionQueue(handle(), entries));
    capacity = Natives.completionQueueCapacity(handle());
  }

  /** Whether the event is about this queue. */
  public boolean isSubjectOf(AsyncEvent event) {
    return event.type() == AsyncEvent.CQ_ERR && isOpen(event.element());
  }

  /** Takes up to {@code out.capacity()} completions without waiting, and returns their number. */
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

  /**
   * Requests one event on the channel for the next completion. The caller must poll once more
   * afterwards.
   */
  public void requestNotify(boolean solicitedOnly) throws VerbsException {
    check("ibv_req_notify_cq", DISNI._reqNotifyCQ(handle(), solicitedOnly ? 1 : 0));
  }

  @Override
  void release(long handle) throws VerbsException {
    check("ibv_destroy_cq", DISNI._destroyCQ(handle));
  }
}
