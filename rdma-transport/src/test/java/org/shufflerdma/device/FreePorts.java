/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.device;

import java.io.IOException;
import java.net.BindException;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * TCP ports for a process that binds them later. They are below those that Linux gives to connections (ip(7),
 * {@code ip_local_port_range}), so that no connection of another test takes one meanwhile.
 */
public final class FreePorts {
  private static final int FIRST = 10_000;
  private static final int END = 20_000;
  private static final int TRIES = 100;

  private FreePorts() {}

  /** Returns a port that nobody listens on now, and so is the next one. */
  public static int two() throws IOException {
    BindException taken = null;
    for (int i = 0; i < TRIES; i++) {
      int port = ThreadLocalRandom.current().nextInt(FIRST, END - 1);
      try (ServerSocket first = new ServerSocket(port);
          ServerSocket second = new ServerSocket(port + 1)) {
        return Math.min(first.getLocalPort(), second.getLocalPort());
      } catch (BindException e) {
        taken = e;
      }
    }
    throw new IOException("no two free ports from " + FIRST + " to " + (END - 1), taken);
  }
}
