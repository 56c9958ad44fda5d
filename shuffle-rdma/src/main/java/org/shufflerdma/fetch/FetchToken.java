/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.fetch;

/**
 * The caller's hold on a fetch. After cancel the listener hears no more, but for a call that was
 * already under way; buffers still being written to go back to their pool when the device is done.
 */
public final class FetchToken {
  private volatile boolean cancelled;

  FetchToken() {}

  /** Returns at once. */
  public void cancel() {
    cancelled = true;
  }

  public boolean isCancelled() {
    return cancelled;
  }
}
