/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.function.Executable;

/** While it is open, no thread takes completions of the transport, as if the device were slow. */
public final class PausedPoller implements AutoCloseable {
  private final CompletionPoller poller;
  private final AtomicBoolean resumed = new AtomicBoolean();

  PausedPoller(RdmaTransport transport) {
    poller = transport.poller();
    poller.polling.acquireUninterruptibly();
  }

  /** Pauses it from now on. */
  public static PausedPoller of(RdmaTransport transport) {
    return new PausedPoller(transport);
  }

  /** Runs the body while no completion is taken. */
  public static void during(RdmaTransport transport, Executable body) throws Exception {
    PausedPoller paused = new PausedPoller(transport);
    try {
      body.execute();
    } catch (Exception | Error e) {
      throw e;
    } catch (Throwable t) {
      throw new AssertionError(t);
    } finally {
      paused.close();
    }
  }

  /** Any thread may call. */
  @Override
  public void close() {
    if (resumed.compareAndSet(false, true)) {
      poller.polling.release();
    }
  }
}
