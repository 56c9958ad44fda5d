/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.shufflerdma.verbs.Dispatcher.DISNI;

/**
 * A channel on which completion queues announce completions. One thread waits on it. It is closed
 * after its completion queues.
 */
public final class CompletionChannel extends NativeObject {
  CompletionChannel(long handle) {
    super(handle);
  }

  /** Waits for an event, takes it and acknowledges it; returns false after the timeout. */
  public boolean await(int timeoutMs) throws VerbsException {
    int result = Natives.awaitCompletionEvent(handle(), timeoutMs);
    if (result < 0) {
      throw VerbsException.of("ibv_get_cq_event", -result);
    }
    return result > 0;
  }

  @Override
  void release(long handle) throws VerbsException {
    check("ibv_destroy_comp_channel", DISNI._destroyCompChannel(handle));
  }
}
