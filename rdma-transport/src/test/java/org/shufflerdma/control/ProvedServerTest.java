/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two protocols at one port, whose terms come when the test says so. */
@Timeout(60)
class ProvedServerTest {
  private static final int TIMEOUT_S = 20;
  private static final int PROOF_MS = 700;
  private static final byte[] CONTEXT = {7};
  private static final MutualProof PROOF = new MutualProof(new byte[32]);
  private static final Hello.Form FIRST = new Hello.Form(0x11111111, 1, 8);
  private static final Hello.Form SECOND = new Hello.Form(0x22222222, 1, 64);

  private final Asked first = new Asked();
  private final Asked second = new Asked();
  private final BlockingQueue<ControlChannel> admitted = new LinkedBlockingQueue<>();
  private ControlLoop loop;
  private ServerSocketChannel listener;
  private ProvedServer server;

  /** The service of one protocol. */
  private static final class Asked implements ProvedServer.Service {
    final BlockingQueue<CompletableFuture<ProvedServer.Terms>> terms = new LinkedBlockingQueue<>();
    final BlockingQueue<Throwable> refused = new LinkedBlockingQueue<>();

    @Override
    public CompletionStage<ProvedServer.Terms> termsFor(byte[] name) {
      CompletableFuture<ProvedServer.Terms> asked = new CompletableFuture<>();
      terms.add(asked);
      return asked;
    }

    @Override
    public void refused(String who, Throwable why) {
      refused.add(why);
    }

    CompletableFuture<ProvedServer.Terms> nextTerms() throws InterruptedException {
      return terms.poll(TIMEOUT_S, TimeUnit.SECONDS);
    }

    String nextRefusal() throws InterruptedException {
      return String.valueOf(refused.poll(TIMEOUT_S, TimeUnit.SECONDS));
    }
  }

  @BeforeEach
  void open() throws Exception {
    loop = ControlLoop.open("control", death -> {});
    listener = ServerSocketChannel.open();
    listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    server = ProvedServer.open(
        listener,
        loop,
        PROOF_MS,
        new ProvedServer.Protocol(FIRST, first),
        new ProvedServer.Protocol(SECOND, second));
  }

  @AfterEach
  void close() throws Exception {
    server.close();
    loop.close();
  }

  private ProvedServer.Terms terms() {
    return new ProvedServer.Terms(PROOF, CONTEXT, 100, (channel, address) -> {
      admitted.add(channel);
      return new ControlChannel.Owner() {
        @Override
        public void received(ByteBuffer body) {
          channel.send(body);
        }

        @Override
        public void closed(IOException why) {}
      };
    });
  }

  private Socket connect() throws IOException {
    InetSocketAddress address = (InetSocketAddress) listener.getLocalAddress();
    Socket socket = new Socket(address.getAddress(), address.getPort());
    socket.setSoTimeout(TIMEOUT_S * 1_000); // no read of a test's waits for ever
    return socket;
  }

  private static ByteBuffer hello(Hello.Form form) {
    byte[] challenge = new byte[MutualProof.CHALLENGE_BYTES];
    return form.encode(
        new Hello(challenge, PROOF.hello(challenge, CONTEXT), new byte[form.nameBytes()]));
  }

  private static void send(Socket socket, ByteBuffer body) throws IOException {
    socket.getOutputStream().write(ControlChannel.frameOf(body, null).array());
  }

  private static MutualProof.Exchange answerTo(Socket socket) throws IOException {
    DataInputStream in = new DataInputStream(socket.getInputStream());
    byte[] answer = new byte[in.readInt()];
    in.readFully(answer);
    return PROOF.readAnswer(
        ByteBuffer.wrap(answer), new byte[MutualProof.CHALLENGE_BYTES], CONTEXT);
  }

  private void assertAdmits(Asked service, Hello.Form form) throws Exception {
    try (Socket client = connect()) {
      send(client, hello(form));
      service.nextTerms().complete(terms());
      send(client, PROOF.proof(answerTo(client)));
      assertThat(admitted.poll(TIMEOUT_S, TimeUnit.SECONDS)).isNotNull();
    }
  }

  @Test
  void eachClientIsItsProtocols() throws Exception {
    assertAdmits(first, FIRST);
    assertAdmits(second, SECOND);
    assertThat(first.terms).isEmpty();
    assertThat(second.terms).isEmpty();
  }

  @Test
  void aFrameBeforeTheAnswerIsTheEnd() throws Exception {
    try (Socket client = connect()) {
      send(client, hello(SECOND));
      CompletableFuture<ProvedServer.Terms> asked = second.nextTerms();
      send(client, ByteBuffer.allocate(MutualProof.PROOF_BYTES));
      assertThat(second.nextRefusal()).contains("a frame before the answer");
      asked.complete(terms()); // too late
      assertThat(client.getInputStream().read()).as("a byte of an answer").isNegative();
    }
    assertThat(admitted).isEmpty();
    assertAdmits(second, SECOND);
  }

  @Test
  void aProtocolThatNobodySpeaksIsRefused() throws Exception {
    for (ByteBuffer frame : new ByteBuffer[] {
      hello(new Hello.Form(0x33333333, 1, 64)), ByteBuffer.allocate(3), ByteBuffer.allocate(0)
    }) {
      try (Socket client = connect()) {
        send(client, frame);
        assertThat(client.getInputStream().read()).as("a byte of an answer").isNegative();
        assertThat(first.nextRefusal()).contains("the first message is no hello");
      }
    }
    try (Socket client = connect()) { // of the first protocol, in the size of the second
      send(client, hello(new Hello.Form(FIRST.magic(), 1, SECOND.nameBytes())));
      assertThat(first.nextRefusal()).contains("a hello of");
    }
    assertThat(first.terms).isEmpty();
    assertThat(second.terms).isEmpty();
    assertThat(second.refused).isEmpty();
  }

  @Test
  void termsThatComeLateAreOfNoUse() throws Exception {
    CompletableFuture<ProvedServer.Terms> asked;
    try (Socket client = connect()) {
      send(client, hello(SECOND));
      asked = second.nextTerms();
      assertThat(client.getInputStream().read()).as("a byte of an answer").isNegative();
      assertThat(second.nextRefusal()).contains("it takes longer than it may");
    }
    asked.complete(terms());
    assertAdmits(second, SECOND);
    assertThat(admitted).isEmpty();
    assertThat(second.refused).isEmpty();
  }

  @Test
  void termsThatFailEndTheClientAlone() throws Exception {
    for (Throwable why : new Throwable[] {
      new ProtocolException("unknown"), new IllegalStateException("unknown"), new Error("unknown")
    }) {
      try (Socket client = connect()) {
        send(client, hello(SECOND));
        second.nextTerms().completeExceptionally(why);
        assertThat(client.getInputStream().read()).as("a byte of an answer").isNegative();
        assertThat(second.nextRefusal()).contains("unknown");
      }
    }
    assertAdmits(second, SECOND);
  }
}
