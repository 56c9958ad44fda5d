/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

/**
 * A TCP server for one connection that answers each request, a number, with that many bytes of
 * memory. It has a thread of its own. Whoever opened it closes it, which ends the thread, in
 * whatever it waits.
 */
final class TcpSource implements AutoCloseable {
  /** A request is the number of the bytes that it wants, as a big-endian long. */
  static final int REQUEST_BYTES = Long.BYTES;

  static final int MOST_BYTES = 4 << 20;

  private static final int REQUESTS_AT_A_TIME = 64;
  private static final long PATIENCE_MS = TimeUnit.SECONDS.toMillis(10);

  private final ServerSocketChannel listener;
  private final Thread thread = new Thread(this::serve, "tcp-source");
  private final ByteBuffer requests = ByteBuffer.allocateDirect(REQUESTS_AT_A_TIME * REQUEST_BYTES);
  private final ByteBuffer answer = ByteBuffer.allocateDirect(MOST_BYTES);

  private TcpSource(ServerSocketChannel listener) {
    this.listener = listener;
  }

  static TcpSource open(InetSocketAddress address) throws IOException {
    ServerSocketChannel listener = ServerSocketChannel.open();
    try {
      listener.bind(address);
      TcpSource source = new TcpSource(listener);
      source.thread.setDaemon(true);
      source.thread.start();
      return source;
    } catch (Throwable t) {
      listener.close();
      throw t;
    }
  }

  InetSocketAddress address() throws IOException {
    return (InetSocketAddress) listener.getLocalAddress();
  }

  private void serve() {
    try (SocketChannel reader = listener.accept()) {
      reader.setOption(StandardSocketOptions.TCP_NODELAY, true);
      while (reader.read(requests) >= 0) {
        answerAll(reader);
      }
    } catch (IOException e) {
      // Nobody waits for this thread but close(), which is one cause. A reader sees the others,
      // too.
    }
  }

  private void answerAll(SocketChannel reader) throws IOException {
    requests.flip();
    while (requests.remaining() >= REQUEST_BYTES) {
      answer.clear().limit((int) Math.max(0, Math.min(MOST_BYTES, requests.getLong())));
      while (answer.hasRemaining()) {
        reader.write(answer);
      }
    }
    requests.compact();
  }

  @Override
  public void close() throws IOException {
    listener.close();
    // Closes the connection in use, too.
    thread.interrupt();
    try {
      thread.join(PATIENCE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive()) {
      throw new IOException("the TCP server did not end within " + PATIENCE_MS / 1000 + " s");
    }
  }
}
