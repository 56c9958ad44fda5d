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
  private volatile @Nullable RdmaTransport transport; // written under this
  private boolean closed; // guarded by this

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
      open = open();
      transport = open;
    }
    return open.endpoint();
  }

  private RdmaTransport open() throws IOException {
    Acquired opening = new Acquired();
    try {
      RdmaTransport opened = opening.keep(device.open(grant.identity()));
      opening.keep(device.serve(opened, new GrantedOutputs(this::grant))::close);
      acquired.keep(opening);
      return opened;
    } catch (Throwable t) {
      opening.close();
      throw t;
    }
  }

  int connections() {
    RdmaTransport open = transport;
    return open == null ? 0 : open.inboundConnections();
  }

  @Override
  public synchronized void close() {
    closed = true;
    acquired.close();
  }
}
