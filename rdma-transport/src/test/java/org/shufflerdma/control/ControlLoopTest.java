/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The loop and those for whom it accepts, of which one fails as at the limits of the process. */
@Timeout(60)
class ControlLoopTest {
  private static final int TIMEOUT_S = 20;

  private final CompletableFuture<Throwable> death = new CompletableFuture<>();
  private ControlLoop loop;
  private ServerSocketChannel listener;

  @BeforeEach
  void open() throws Exception {
    loop = ControlLoop.open("control", death::complete);
    listener = ServerSocketChannel.open();
    listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  @AfterEach
  void close() throws Exception {
    listener.close();
    loop.close();
  }

  private Socket connect() throws IOException {
    InetSocketAddress address = (InetSocketAddress) listener.getLocalAddress();
    Socket socket = new Socket(address.getAddress(), address.getPort());
    socket.setSoTimeout(TIMEOUT_S * 1_000); // no read of a test's waits for ever
    return socket;
  }

  /** As the first that comes while the system refuses threads. */
  private static final class FailsAtFirst implements Acceptor.Host {
    final CountDownLatch accepted = new CountDownLatch(1);
    final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();

    @Override
    public void accepted(SocketChannel socket) throws IOException {
      if (failures.isEmpty()) {
        throw new OutOfMemoryError("unable to create native thread");
      }
      socket.close();
      accepted.countDown();
    }

    @Override
    public void notAccepted(Throwable why) {
      failures.add(why);
    }
  }

  @Test
  void anErrorWithOneConnectionEndsThatOneAlone() throws Exception {
    FailsAtFirst host = new FailsAtFirst();
    try (Acceptor acceptor = Acceptor.open(listener, loop, host);
        Socket first = connect()) {
      assertThat(first.getInputStream().read()).isNegative();
      try (Socket second = connect()) {
        assertThat(host.accepted.await(TIMEOUT_S, TimeUnit.SECONDS)).isTrue();
        assertThat(second.getInputStream().read()).isNegative();
      }
      assertThat(host.failures).singleElement().isInstanceOf(OutOfMemoryError.class);
      assertThat(acceptor).isNotNull();
      assertThat(loop.isAlive()).isTrue();
    }
  }

  @Test
  void anErrorOfOneMemberDoesNotEndTheLoop() throws Exception {
    CountDownLatch looks = new CountDownLatch(2);
    listener.configureBlocking(false);
    loop.register(listener, SelectionKey.OP_ACCEPT, new ControlLoop.Member() {
      @Override
      public void ready(SelectionKey key) {
        key.interestOps(0);
        throw new OutOfMemoryError("Java heap space");
      }

      @Override
      public void look(SelectionKey key) {
        looks.countDown();
        throw new AssertionError("a fault of a member");
      }

      @Override
      public void loopDied(Throwable why) {}
    });
    try (Socket client = connect()) {
      assertThat(looks.await(TIMEOUT_S, TimeUnit.SECONDS)).isTrue();
      assertThat(client.isConnected()).isTrue();
    }
    assertThat(loop.isAlive()).isTrue();
    assertThat(death).isNotDone();
  }

  /** A connection that says nothing is ended by the loop, without a timer of anybody's. */
  @Test
  void whatTakesLongerThanItMayIsEnded() throws Exception {
    CompletableFuture<IOException> ended = new CompletableFuture<>();
    try (Socket client = connect()) {
      SocketChannel accepted = listener.accept();
      accepted.configureBlocking(false);
      ControlChannel channel = new ControlChannel(accepted, loop, 10, new ControlChannel.Owner() {
        @Override
        public void received(java.nio.ByteBuffer body) {}

        @Override
        public void closed(IOException why) {
          ended.complete(why);
        }
      });
      channel.endAt(org.shufflerdma.concurrent.Deadline.afterMs(0));
      channel.start();
      assertThat(client.getInputStream().read()).isNegative();
      assertThat(ended.get(TIMEOUT_S, TimeUnit.SECONDS)).isInstanceOf(ProtocolException.class);
    }
  }
}
