/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Accepts connections at a listening socket, in the thread of a loop. What the process lacks for one of them,
 * such as a descriptor, ends that one alone; the next is accepted a moment later. Its owner closes it before
 * the loop.
 */
public final class Acceptor implements ControlLoop.Member, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Acceptor.class);

  /** Whose connections these are. The loop's thread calls. */
  public interface Host {
    /** Takes over the socket, which is non-blocking, unless it throws. */
    void accepted(SocketChannel socket) throws IOException;

    void notAccepted(Throwable why);
  }

  private final ServerSocketChannel listener;
  private final Host host;

  private Acceptor(ServerSocketChannel listener, Host host) {
    this.listener = listener;
    this.host = host;
  }

  /** Begins to accept. The listener, which is bound, remains the caller's if this throws. */
  public static Acceptor open(ServerSocketChannel listener, ControlLoop loop, Host host)
      throws IOException {
    listener.configureBlocking(false);
    Acceptor acceptor = new Acceptor(listener, host);
    loop.register(listener, SelectionKey.OP_ACCEPT, acceptor);
    return acceptor;
  }

  @Override
  public void ready(SelectionKey key) {
    SocketChannel socket = null;
    try {
      socket = listener.accept();
      if (socket != null) {
        socket.configureBlocking(false);
        host.accepted(socket);
      }
    } catch (IOException | RuntimeException | Error e) { // must not end the thread of all others
      key.interestOps(0); // it stays ready while there are no descriptors, until the next look
      closeQuietly(socket);
      host.notAccepted(e);
    }
  }

  private static void closeQuietly(@Nullable SocketChannel socket) {
    try {
      if (socket != null) {
        socket.close();
      }
    } catch (IOException e) {
      LOG.debug("A socket could not be closed", e);
    }
  }

  @Override
  public void look(SelectionKey key) {
    if (key.isValid() && key.interestOps() == 0) {
      key.interestOps(SelectionKey.OP_ACCEPT);
    }
  }

  /** Whoever connects from now on learns at once that nobody answers. */
  @Override
  public void loopDied(Throwable why) {
    try {
      listener.close();
    } catch (IOException e) {
      LOG.debug("The listener could not be closed", e);
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }
}
