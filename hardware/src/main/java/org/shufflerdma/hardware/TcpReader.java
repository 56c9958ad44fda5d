/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

/** Reads from a {@link TcpSource} over one connection. One thread uses it; its opener closes it. */
final class TcpReader implements AutoCloseable {
  static final int PATIENCE_MS = (int) TimeUnit.SECONDS.toMillis(60);
  private static final int BUFFER_BYTES = 1 << 20;

  private final SocketChannel channel;
  private final Selector selector;
  private final int patienceMs;
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);

  private TcpReader(SocketChannel channel, Selector selector, int patienceMs) {
    this.channel = channel;
    this.selector = selector;
    this.patienceMs = patienceMs;
  }

  /**
   * @param token that the source asks for
   * @param patienceMs for the connection, and then for each answer
   */
  static TcpReader open(InetSocketAddress source, byte[] token, int patienceMs) throws IOException {
    SocketChannel channel = SocketChannel.open();
    try {
      channel.socket().connect(source, patienceMs);
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      ByteBuffer proof = ByteBuffer.wrap(token);
      while (proof.hasRemaining()) {
        channel.write(proof);
      }
      channel.configureBlocking(false);
      Selector selector = Selector.open();
      channel.register(selector, SelectionKey.OP_READ);
      return new TcpReader(channel, selector, patienceMs);
    } catch (Throwable t) {
      channel.close();
      throw t;
    }
  }

  /**
   * Keeps {@code depth} requests in progress for the time, as {@link Reader#timed} does with READs.
   */
  Latencies timed(int bytes, int depth, long budgetNs) throws IOException {
    Latencies latencies = new Latencies(bytes);
    long[] asked = new long[depth];
    long start = System.nanoTime();
    for (int i = 0; i < depth; i++) {
      asked[i] = start;
    }
    request(bytes, depth);
    long received = 0;
    int oldest = 0;
    boolean more = true;
    for (int inProgress = depth; inProgress > 0; ) {
      received += read();
      long now = System.nanoTime();
      int answered = (int) (received / bytes);
      received %= bytes;
      more &= now - start < budgetNs && !latencies.isFull(depth);
      for (int i = 0; i < answered; i++) {
        latencies.add(now - asked[oldest]);
        asked[oldest] = now;
        oldest = (oldest + 1) % depth;
      }
      if (more) {
        request(bytes, answered);
      } else {
        inProgress -= answered;
      }
    }
    latencies.end(System.nanoTime() - start);
    return latencies;
  }

  private void request(int bytes, int count) throws IOException {
    buffer.clear();
    for (int i = 0; i < count; i++) {
      buffer.putLong(bytes);
    }
    buffer.flip();
    channel.write(buffer);
    if (buffer.hasRemaining()) {
      throw new IOException("TCP took only a part of " + count + " requests");
    }
  }

  private int read() throws IOException {
    int read = channel.read(buffer.clear());
    while (read == 0) {
      if (selector.select(patienceMs) == 0) {
        throw new IOException("nothing came by TCP within " + patienceMs / 1000 + " s");
      }
      selector.selectedKeys().clear();
      read = channel.read(buffer.clear());
    }
    if (read < 0) {
      throw new IOException("the TCP server has closed the connection");
    }
    return read;
  }

  @Override
  public void close() throws IOException {
    try (channel) {
      selector.close();
    }
  }
}
