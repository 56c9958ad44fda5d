/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.security.MessageDigest;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A TCP server for one connection at a time that answers each request, a number, with that many bytes
 * of memory. A new connection that shows the token takes the place of the one before. It has a thread of its own, and one for the
 * connection. Whoever opened it closes it, which ends the threads, in whatever they wait.
 */
final class TcpSource implements AutoCloseable {
  /** A request is the number of the bytes that it wants, as a big-endian long. */
  static final int REQUEST_BYTES = Long.BYTES;

  static final int MOST_BYTES = 4 << 20;

  /** Whoever reaches the port is answered. */
  static final byte[] NO_TOKEN = {};

  private static final int REQUESTS_AT_A_TIME = 64;
  private static final int TOKEN_PATIENCE_MS = 2000;
  private static final long PATIENCE_MS = TimeUnit.SECONDS.toMillis(10);

  private final ServerSocketChannel listener;
  private final byte[] token;
  private final Thread thread = new Thread(this::serve, "tcp-source");

  private TcpSource(ServerSocketChannel listener, byte[] token) {
    this.listener = listener;
    this.token = token;
  }

  /**
   * @param token the bytes with which a connection begins; others are closed
   */
  static TcpSource open(InetSocketAddress address, byte[] token) throws IOException {
    ServerSocketChannel listener = ServerSocketChannel.open();
    try {
      listener.bind(address);
      TcpSource source = new TcpSource(listener, token);
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
    Thread current = null;
    try {
      while (true) {
        SocketChannel reader = listener.accept();
        if (hasToken(reader)) {
          close(current);
          current = begin(reader);
        } else {
          reader.close();
        }
      }
    } catch (IOException e) {
      // Nobody waits for this thread but close(), which is one cause. A reader sees the others,
      // too.
    } finally {
      close(current);
    }
  }

  /** Ends a thread that answers, and its connection. */
  private static void close(@Nullable Thread answering) {
    if (answering != null) {
      answering.interrupt(); // which closes the channel, in whatever it waits
    }
  }

  private boolean hasToken(SocketChannel reader) {
    try {
      reader.socket().setSoTimeout(TOKEN_PATIENCE_MS);
      return MessageDigest.isEqual(
          token, reader.socket().getInputStream().readNBytes(token.length));
    } catch (IOException e) {
      return false;
    }
  }

  private static Thread begin(SocketChannel reader) {
    Thread answering = new Thread(() -> answer(reader), "tcp-source-answers");
    answering.setDaemon(true);
    answering.start();
    return answering;
  }

  private static void answer(SocketChannel channel) {
    ByteBuffer requests = ByteBuffer.allocateDirect(REQUESTS_AT_A_TIME * REQUEST_BYTES);
    ByteBuffer answer = ByteBuffer.allocateDirect(MOST_BYTES);
    try (channel) {
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      while (channel.read(requests) >= 0) {
        requests.flip();
        while (requests.remaining() >= REQUEST_BYTES) {
          answer.clear().limit((int) Math.max(0, Math.min(MOST_BYTES, requests.getLong())));
          while (answer.hasRemaining()) {
            channel.write(answer);
          }
        }
        requests.compact();
      }
    } catch (IOException e) {
      // The reader sees it, too.
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    // Closes a connection that has not shown its token, too.
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
