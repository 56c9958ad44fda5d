/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.shufflerdma.memory.RegisteredBuffer;

/**
 * Lets the caller cancel a fetch, and holds the buffers that the fetch's blocks are read into. After
 * a cancel the listener is not called any more, except for a call that had already begun, and only
 * the device holds buffers that READs may still write to. Any thread may call.
 */
public final class FetchToken {
  private final Set<RegisteredBuffer> sinks = ConcurrentHashMap.newKeySet();
  private volatile boolean cancelled;

  FetchToken() {}

  /** Cancels the fetch and returns at once. */
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

  /** Returns true to the one caller that takes over the hold; false after the fetch was cancelled. */
  boolean claim(RegisteredBuffer sink) {
    return sinks.remove(sink);
  }

  void letGo(RegisteredBuffer sink) {
    if (claim(sink)) {
      sink.release();
    }
  }
}
