/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.shufflerdma.concurrent.Deadline;

/**
 * The frames of a client before a loop reads its control connection: the connecting thread waits for them,
 * until a deadline at most. Used by one thread.
 */
public record FirstFrames(SocketChannel socket, Deadline deadline) implements AutoCloseable {
  /** Connects. The caller closes the result, or takes over the socket, which is blocking. */
  public static FirstFrames connect(InetSocketAddress to, Deadline deadline) throws IOException {
    SocketChannel socket = SocketChannel.open();
    try {
      socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
      socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
      socket.socket().connect(to, Math.max(1, deadline.remainingMs()));
      return new FirstFrames(socket, deadline);
    } catch (Throwable t) {
      socket.close();
      throw t;
    }
  }

  public void send(ByteBuffer body) throws IOException {
    socket.write(ControlChannel.frameOf(body, null)); // a new socket takes a few bytes at once
  }

  /** Waits for a frame of so many bytes. */
  public ByteBuffer receive(int bodyBytes) throws IOException {
    int sentBytes = ByteBuffer.wrap(take(Integer.BYTES)).getInt();
    if (sentBytes != bodyBytes) {
      throw new ProtocolException("a frame of " + sentBytes + " bytes instead of " + bodyBytes);
    }
    return ByteBuffer.wrap(take(bodyBytes));
  }

  /** Waits for a frame of so many bytes that has the next seal. */
  public ByteBuffer receive(int bodyBytes, FrameSeal seal) throws IOException {
    ByteBuffer body = receive(bodyBytes);
    if (!seal.matchesNext(body, take(FrameSeal.SIZE_BYTES))) {
      throw new ProtocolException("the seal of a frame is wrong");
    }
    return body;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  private byte[] take(int bytes) throws IOException {
    byte[] taken = new byte[bytes];
    InputStream in = socket.socket().getInputStream();
    for (int have = 0; have < bytes; ) {
      socket.socket().setSoTimeout(Math.max(1, deadline.remainingMs()));
      int count = in.read(taken, have, bytes - have);
      if (count < 0) {
        throw new EOFException("the peer has closed the control connection");
      }
      have += count;
    }
    return taken;
  }
}
