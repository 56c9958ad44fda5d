/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;

/**
 * The client's end of a connection to a {@link ProvedServer}, on which both ends have proved themselves. Its
 * thread waits for each frame until the deadline. It closes the connection, or makes it the channel of a loop.
 */
public final class ProvedClient implements AutoCloseable {
  private final SocketChannel socket;
  private final Deadline deadline;
  private @Nullable FrameSeal inSeal;
  private @Nullable FrameSeal outSeal;

  private ProvedClient(SocketChannel socket, Deadline deadline) {
    this.socket = socket;
    this.deadline = deadline;
  }

  /**
   * Connects, proves that this end knows the key, and has the server prove it.
   *
   * @param name of whom the client looks for, as {@code form} says
   * @param context of the proof
   */
  public static ProvedClient connect(
      InetSocketAddress to,
      Hello.Form form,
      byte[] name,
      MutualProof proof,
      byte[] context,
      Deadline deadline)
      throws IOException {
    SocketChannel socket = SocketChannel.open();
    try {
      socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
      socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
      socket.socket().connect(to, Math.max(1, deadline.remainingMs()));
      ProvedClient client = new ProvedClient(socket, deadline);
      byte[] challenge = proof.challenge();
      client.send(form.encode(new Hello(challenge, proof.hello(challenge, context), name)));
      MutualProof.Exchange exchange =
          proof.readAnswer(client.receive(MutualProof.ANSWER_BYTES), challenge, context);
      client.send(proof.proof(exchange));
      byte[] key = proof.frameKey(exchange);
      client.outSeal = new FrameSeal(key, 'C');
      client.inSeal = new FrameSeal(key, 'S');
      return client;
    } catch (Throwable t) {
      socket.close();
      throw t;
    }
  }

  private void send(ByteBuffer body) throws IOException {
    socket.write(ControlChannel.frameOf(body, null)); // a new socket takes a few bytes at once
  }

  /** Waits for a frame of so many bytes. */
  public ByteBuffer receive(int bodyBytes) throws IOException {
    int sentBytes = ByteBuffer.wrap(take(Integer.BYTES)).getInt();
    if (sentBytes != bodyBytes) {
      throw new ProtocolException("a frame of " + sentBytes + " bytes instead of " + bodyBytes);
    }
    ByteBuffer body = ByteBuffer.wrap(take(bodyBytes));
    FrameSeal seal = inSeal;
    if (seal != null && !seal.matchesNext(body, take(FrameSeal.SIZE_BYTES))) {
      throw new ProtocolException("the seal of a frame is wrong");
    }
    return body;
  }

  /**
   * The connection as a channel, which the caller starts and closes instead of this.
   *
   * @param maxBodyBytes of a frame of the server's
   */
  public ControlChannel channel(ControlLoop loop, int maxBodyBytes, ControlChannel.Owner owner)
      throws IOException {
    FrameSeal in = inSeal;
    FrameSeal out = outSeal;
    if (in == null || out == null) {
      throw new IllegalStateException("a connection that is not proved");
    }
    socket.configureBlocking(false);
    ControlChannel channel = new ControlChannel(socket, loop, maxBodyBytes, owner);
    channel.seal(out, in, maxBodyBytes);
    return channel;
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
