/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.RdmaTransport;

/**
 * One application that the service serves: its grant, and from its first reader on a protection domain, a
 * listener and a staging server of its own. Another application's key is therefore worth nothing on its
 * connections. Any thread may call; its owner closes it.
 */
final class Application implements AutoCloseable {
  private final NodeDevice device;
  private volatile Grant grant;
  private final Acquired acquired = new Acquired();
  private @Nullable RdmaTransport transport; // guarded by this, as is the next
  private boolean closed;

  Application(NodeDevice device, Grant grant) throws IOException {
    this.device = device;
    this.grant = grant;
    acquired.keep(device.accept(grant.deviceSecret()));
  }

  Grant grant() {
    return grant;
  }

  void grant(Grant changed) {
    grant = changed;
  }

  /** Where the application's readers connect. Opens what serves them, which takes a moment. */
  synchronized RdmaEndpoint endpoint() throws IOException {
    if (closed) {
      throw new IOException("the application has ended");
    }
    RdmaTransport open = transport;
    if (open == null) {
      open = acquired.keep(device.open(grant.identity()));
      acquired.keep(device.serve(open, new GrantedOutputs(this::grant))::close);
      transport = open;
    }
    return open.endpoint();
  }

  synchronized int connections() {
    return transport == null ? 0 : transport.inboundConnections();
  }

  @Override
  public synchronized void close() {
    closed = true;
    acquired.close();
  }
}
