/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;

/** A TCP port whose connects get no answer: its backlog is full and nobody accepts. */
public final class SilentPort implements AutoCloseable {
  private static final int MOST_WAITING = 16;

  private final ServerSocket server;
  private final List<Socket> waiting = new ArrayList<>();

  private SilentPort(ServerSocket server) {
    this.server = server;
  }

  public static SilentPort open() throws IOException {
    return open(InetAddress.getLoopbackAddress());
  }

  public static SilentPort open(InetAddress at) throws IOException {
    SilentPort port = new SilentPort(new ServerSocket(0, 1, at));
    port.fill();
    return port;
  }

  private void fill() throws IOException {
    while (waiting.size() < MOST_WAITING) {
      Socket socket = new Socket();
      waiting.add(socket);
      try {
        socket.connect(address(), 200);
      } catch (SocketTimeoutException e) {
        return;
      }
    }
    throw new IOException("the backlog never filled");
  }

  public InetSocketAddress address() {
    return (InetSocketAddress) server.getLocalSocketAddress();
  }

  @Override
  public void close() throws IOException {
    for (Socket socket : waiting) {
      socket.close();
    }
    server.close();
  }
}
