/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ProtocolException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the node service of this host where this executor keeps its map outputs, by a thread that ends when
 * the service knows it, refuses it, or is not one that may know the application's key. Closed by its owner.
 */
public final class Registrar {
  private static final Logger LOG = LoggerFactory.getLogger(Registrar.class);
  private static final int TIMEOUT_MS = 5_000;
  private static final int RETRY_MS = 10_000;

  private final Path socket;
  private final Registration registration;
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread thread;

  private Registrar(Path socket, Registration registration) {
    this.socket = socket;
    this.registration = registration;
    this.thread = Workers.thread("rdma-registrar", this::run);
  }

  public static Registrar start(Path socket, Registration registration) {
    Registrar registrar = new Registrar(socket, registration);
    registrar.thread.start();
    return registrar;
  }

  private void run() {
    boolean said = false;
    try {
      do {
        try {
          register(socket, registration, Deadline.afterMs(TIMEOUT_MS));
          LOG.info("The node service of this host knows this executor's map outputs");
          return;
        } catch (UntrustedListenerException e) {
          LOG.warn(
              "No node service: {}. Map outputs come by TCP when this executor has ended",
              e.getMessage());
          return;
        } catch (ProtocolException e) {
          LOG.warn("The node service of this host refuses this executor: {}", e.getMessage());
          return;
        } catch (IOException | RuntimeException e) {
          if (!said) {
            LOG.info(
                "No node service at {} ({}): map outputs come by TCP when this executor has ended",
                socket,
                e.getMessage());
            said = true;
          }
        }
      } while (!closed.await(RETRY_MS, TimeUnit.MILLISECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Registers. Throws ProtocolException if the service refuses it.
   *
   * @param socket an absolute path
   * @throws UntrustedListenerException if the listener is none that may know the key, of which it is told nothing
   */
  public static void register(Path socket, Registration registration, Deadline deadline)
      throws IOException {
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        Selector selector = Selector.open()) {
      channel.configureBlocking(false);
      channel.connect(UnixDomainSocketAddress.of(socket)); // fails at once if it cannot
      ListenerTrust.ofThisProcess().check(socket, channel);
      SelectionKey key = channel.register(selector, 0);
      transfer(
          key,
          SelectionKey.OP_WRITE,
          ControlChannel.frameOf(registration.encode(), null),
          deadline);
      ByteBuffer length = ByteBuffer.allocate(Integer.BYTES);
      transfer(key, SelectionKey.OP_READ, length, deadline);
      int bytes = length.getInt(0);
      if (bytes < 0 || bytes > Registration.MAX_ANSWER_BYTES) {
        throw new ProtocolException("an answer of " + bytes + " bytes");
      }
      ByteBuffer answer = ByteBuffer.allocate(bytes);
      transfer(key, SelectionKey.OP_READ, answer, deadline);
      if (bytes > 0) {
        throw new ProtocolException(new String(answer.array(), StandardCharsets.UTF_8));
      }
    }
  }

  /** Writes or fills all of the buffer. */
  private static void transfer(SelectionKey key, int operation, ByteBuffer bytes, Deadline deadline)
      throws IOException {
    SocketChannel channel = (SocketChannel) key.channel();
    key.interestOps(operation);
    while (bytes.hasRemaining()) {
      int count = operation == SelectionKey.OP_READ ? channel.read(bytes) : channel.write(bytes);
      if (count < 0) {
        throw new EOFException("the node service has closed the connection");
      }
      if (count == 0) {
        if (deadline.expired()) {
          throw new SocketTimeoutException("the node service does not answer");
        }
        key.selector().select(Math.max(1, deadline.remainingMs()));
        key.selector().selectedKeys().clear();
      }
    }
  }

  public void close() throws InterruptedException {
    closed.countDown();
    thread.interrupt();
    thread.join(TIMEOUT_MS);
  }
}
