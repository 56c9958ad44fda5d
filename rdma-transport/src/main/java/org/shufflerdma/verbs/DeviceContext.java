/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import static org.shufflerdma.verbs.Dispatcher.DISNI;

import org.jspecify.annotations.Nullable;

/** An opened device. rdma_cm owns it: it lives as long as the process and is not closed. */
public final class DeviceContext {
  private final long handle;

  DeviceContext(long handle) {
    this.handle = handle;
  }

  public String name() {
    return Natives.deviceName(handle);
  }

  public DeviceInfo query() throws VerbsException {
    return DeviceQuery.read(handle);
  }

  public ProtectionDomain allocProtectionDomain() throws VerbsException {
    return new ProtectionDomain(DISNI._allocPd(handle));
  }

  public CompletionChannel createCompletionChannel() throws VerbsException {
    return new CompletionChannel(DISNI._createCompChannel(handle));
  }

  public CompletionQueue createCompletionQueue(
      int cqe, @Nullable CompletionChannel channel, int vector) throws VerbsException {
    return new CompletionQueue(
        Natives.createCompletionQueue(handle, cqe, channel == null ? 0 : channel.handle(), vector));
  }

  /**
   * Waits for an asynchronous event, takes it and acknowledges it; returns null after the timeout.
   */
  public @Nullable AsyncEvent pollAsyncEvent(int timeoutMs) throws VerbsException {
    long[] typeAndElement = new long[2];
    String text = Natives.getAsyncEvent(handle, timeoutMs, typeAndElement);
    return text == null ? null : new AsyncEvent((int) typeAndElement[0], text, typeAndElement[1]);
  }

  /** Two contexts are equal if they are the same opened device. */
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof DeviceContext context && context.handle == handle;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(handle);
  }
}
