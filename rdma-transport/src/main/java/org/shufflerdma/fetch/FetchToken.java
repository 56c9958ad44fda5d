/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.shufflerdma.memory.RegisteredBuffer;

/**
 * The caller's hold on a fetch, and the fetch's on the buffers that its blocks are read into. After
 * cancel the listener hears no more, but for a call that was already under way, and nobody but the
 * device holds a buffer that is still being written to. Any thread may call.
 */
public final class FetchToken {
  private final Set<RegisteredBuffer> sinks = ConcurrentHashMap.newKeySet();
  private volatile boolean cancelled;

  FetchToken() {}

  /** Returns at once. */
  public void cancel() {
    cancelled = true;
    sinks.forEach(this::letGo);
  }

  public boolean isCancelled() {
    return cancelled;
  }

  /** Holds a buffer, which the caller holds as well, until it is claimed or the fetch cancelled. */
  void hold(RegisteredBuffer sink) {
    sink.retain();
    sinks.add(sink);
    if (cancelled) {
      letGo(sink);
    }
  }

  /** True for the one caller that the hold passes to; false once the fetch has been cancelled. */
  boolean claim(RegisteredBuffer sink) {
    return sinks.remove(sink);
  }

  void letGo(RegisteredBuffer sink) {
    if (claim(sink)) {
      sink.release();
    }
  }
}
