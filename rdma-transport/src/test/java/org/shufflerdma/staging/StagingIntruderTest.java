/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.staging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.control.ControlChannel;
import org.shufflerdma.control.ControlLoop;
import org.shufflerdma.control.FrameSeal;
import org.shufflerdma.control.Hello;
import org.shufflerdma.control.MutualProof;

/** Raw clients at the port of a staging server that do not keep to the protocol. */
@Timeout(60)
class StagingIntruderTest {
  private static final int LOAN_BYTES = 64 << 10;
  private static final int REQUESTS = 2;
  private static final int DATA_BYTES = 1024;
  private static final int ROOM = 1_000_000;
  private static final int SLAB_BYTES = 2 * LOAN_BYTES;
  private static final int LEASE_MS = 300;
  private static final int PROOF_MS = 4_000;

  @TempDir
  Path directory;

  private final StagingWorkers workers = new StagingWorkers(2);
  private RdmaTransport owner;
  private ControlLoop loop;
  private StagingServer server;
  private final StagingStats stats = new StagingStats();
  private final RequestQuota quota = new RequestQuota(ROOM);

  @BeforeEach
  void open() throws Exception {
    Files.write(directory.resolve("data"), new byte[DATA_BYTES]);
    Files.write(
        directory.resolve("index"),
        ByteBuffer.allocate(16).putLong(0).putLong(DATA_BYTES).array());
    owner = TestTransports.open("owner");
    loop = ControlLoop.open("control");
    server = StagingServer.open(
        owner,
        loop,
        (shuffle, map) ->
            CommittedOutputs.Files.open(directory.resolve("data"), directory.resolve("index")),
        new StagingSettings(
            SLAB_BYTES, LOAN_BYTES, SLAB_BYTES, REQUESTS, 2, PROOF_MS, 10_000, LEASE_MS),
        new StagingBudget(SLAB_BYTES),
        quota,
        stats,
        workers::start);
  }

  @AfterEach
  void close() throws Exception {
    loop.close();
    server.close();
    workers.close();
    owner.close();
  }

  private PeerId peer() {
    return TestTransports.peerOf("owner", owner);
  }

  private static MutualProof proofWith(byte[] secret) {
    return StagingProof.of(new LocalIdentity("app-test", "intruder", secret), "owner");
  }

  private ByteBuffer hello(MutualProof proof, byte[] challenge, byte[] context) {
    return StagingProof.HELLO.encode(new Hello(
        challenge,
        proof.hello(challenge, context),
        StagingProof.nameOf(owner.endpoint().bootNonce())));
  }

  /** A client that sends what a test likes. */
  private final class Client implements AutoCloseable {
    final Socket socket = new Socket();
    final DataInputStream in;
    private @Nullable FrameSeal seal;

    Client() throws IOException {
      socket.connect(new InetSocketAddress(owner.endpoint().host(), server.port()), 5_000);
      socket.setSoTimeout(20_000);
      in = new DataInputStream(socket.getInputStream());
    }

    /** Without it each client's port stays in TIME_WAIT for a minute, and many clients run out of ports. */
    void leaveNoPortBehind() throws IOException {
      socket.setSoLinger(true, 0);
    }

    void send(ByteBuffer body) throws IOException {
      sendRaw(ControlChannel.frameOf(body, seal).array());
    }

    void sendRaw(byte[] bytes) throws IOException {
      socket.getOutputStream().write(bytes);
    }

    ByteBuffer receive(int sealBytes) throws IOException {
      byte[] body = new byte[in.readInt()];
      in.readFully(body);
      in.skipNBytes(sealBytes);
      return ByteBuffer.wrap(body);
    }

    /** Sends a hello with what proves that it knows the secret, for whatever it says of the server. */
    Client greet(byte[] secret, PeerId as) throws IOException {
      send(hello(proofWith(secret), new byte[16], StagingProof.contextOf(as)));
      return this;
    }

    /** Proves itself. */
    private void prove() throws IOException {
      greet(TestTransports.SECRET, peer());
      MutualProof proof = proofWith(TestTransports.SECRET);
      byte[] ofServer = new byte[16];
      receive(0).get(ofServer);
      MutualProof.Exchange exchange =
          new MutualProof.Exchange(new byte[16], ofServer, StagingProof.contextOf(peer()));
      send(proof.proof(exchange));
      seal = new FrameSeal(proof.frameKey(exchange), 'C');
    }

    /** Has been let in, and told what it may ask for. */
    Client granted() throws IOException {
      prove();
      assertThat(StagingTerms.decode(receive(FrameSeal.SIZE_BYTES)))
          .isEqualTo(new StagingTerms(LOAN_BYTES, REQUESTS, LEASE_MS));
      return this;
    }

    StageReply reply() throws IOException {
      return StageReply.decode(receive(FrameSeal.SIZE_BYTES));
    }

    boolean isEnded() throws IOException {
      try {
        return in.read() < 0;
      } catch (SocketException | EOFException e) {
        return true;
      }
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private static StageRequest request(long id, int ranges) {
    return new StageRequest(
        id, LOAN_BYTES, List.of(), Collections.nCopies(ranges, new StagedRange(1, 2, 0, 1, 0)));
  }

  private void assertRefused(Client client) throws Exception {
    assertThat(client.isEnded()).isTrue();
    Await.atMost(5_000, () -> stats.readersRefused.sum() > 0);
    assertThat(stats.readersRefused.sum()).isEqualTo(1);
    client.close();
    assertThatOthersAreServed();
  }

  private void assertThatOthersAreServed() throws Exception {
    try (Client other = new Client().granted()) {
      other.send(request(1, 3).encode());
      StageReply reply = other.reply();
      while (reply.isWaiting()) {
        reply = other.reply();
      }
      assertThat(reply.entries()).hasSize(3).allMatch(StageReply.Entry::isStaged);
    }
  }

  @Test
  void whoDoesNotKnowTheSecretGetsNothing() throws Exception {
    byte[] guess = "another secret of length".getBytes(StandardCharsets.UTF_8);
    assertRefused(new Client().greet(guess, peer()));
  }

  /** Else who guesses secrets could try them against a MAC of the server's. */
  @Test
  void theServerProvesNothingToWhoHasProvedNothing() throws Exception {
    Client client = new Client();
    client.send(StagingProof.HELLO.encode(new Hello(
        new byte[16], new byte[32], StagingProof.nameOf(owner.endpoint().bootNonce()))));
    assertThat(client.in.read()).as("a byte of an answer").isNegative();
    assertRefused(client);
  }

  @Test
  void whatTheHeapHasNoRoomForIsRefused() throws Exception {
    int taken = ROOM - RequestQuota.READER - 6;
    try (Client client = new Client().granted();
        Client another = new Client()) {
      assertThat(quota.tryTake(taken)).isTrue();
      another.prove();
      assertThat(another.isEnded()).isTrue();
      client.send(request(1, 3).encode());
      assertThat(client.reply().entries()).hasSize(3).noneMatch(StageReply.Entry::isStaged);
    }
    quota.giveBack(taken);
    assertThatOthersAreServed();
  }

  @Test
  void aHelloOfAnotherVersionIsRefusedByItsVersion() {
    ByteBuffer hello = ByteBuffer.allocate(40)
        .putInt(StagingProof.HELLO.magic())
        .putShort((short) 1)
        .rewind();
    assertThatThrownBy(() -> StagingProof.HELLO.decode(hello))
        .hasMessage("version 1 instead of " + StagingProof.HELLO.version());
  }

  @Test
  void aProofForAnotherServerIsWorthNothing() throws Exception {
    assertRefused(
        new Client().greet(TestTransports.SECRET, new PeerId("another", owner.endpoint())));
  }

  @Test
  void aHelloToAnotherRunIsRefused() throws Exception {
    Client client = new Client();
    byte[] anotherRun = StagingProof.nameOf(new Nonce(1, 2));
    client.send(StagingProof.HELLO.encode(new Hello(new byte[16], new byte[32], anotherRun)));
    assertRefused(client);
  }

  @Test
  void aServerThatDoesNotKnowTheSecretIsNotBelieved() {
    byte[] challenge = new byte[16];
    MutualProof impostor = proofWith("a secret that is a guess".getBytes(StandardCharsets.UTF_8));
    byte[] context = StagingProof.contextOf(peer());
    ByteBuffer answer = impostor.answer(new MutualProof.Exchange(challenge, new byte[16], context));
    assertThat(org.assertj.core.api.Assertions.catchThrowable(
            () -> proofWith(TestTransports.SECRET).readAnswer(answer, challenge, context)))
        .hasMessageContaining("does not know the application's secret");
  }

  @Test
  void whoProvesNothingInTimeIsEnded() throws Exception {
    assertRefused(new Client());
  }

  @Test
  void aFrameLongerThanARequestIsNotReceived() throws Exception {
    Client client = new Client().granted();
    client.sendRaw(ByteBuffer.allocate(4).putInt(StageRequest.MAX_BYTES + 1).array());
    assertRefused(client);
  }

  @Test
  void aFrameOfNegativeLengthIsNotReceived() throws Exception {
    Client client = new Client();
    client.sendRaw(ByteBuffer.allocate(4).putInt(-1).array());
    assertRefused(client);
  }

  @Test
  void aFrameWithoutTheSealIsRefused() throws Exception {
    Client client = new Client().granted();
    byte[] frame = ControlChannel.frameOf(request(7, 1).encode(), client.seal).array();
    frame[frame.length - 1] ^= 1;
    client.sendRaw(frame);
    assertRefused(client);
  }

  @Test
  void aFrameThatIsSentAgainIsRefused() throws Exception {
    Client client = new Client().granted();
    byte[] frame = ControlChannel.frameOf(request(7, 1).encode(), client.seal).array();
    client.sendRaw(frame);
    assertThat(client.reply().id()).isEqualTo(7);
    client.sendRaw(frame);
    assertRefused(client);
  }

  @Test
  void moreRequestsThanTheTermsAllowAreRefused() throws Exception {
    Client client = new Client().granted();
    for (long id = 1; id <= REQUESTS + 1; id++) {
      client.send(request(id, 1).encode());
    }
    while (!client.isEnded()) {
      // the replies to the first ones
    }
    assertRefused(client);
  }

  @Test
  void twoRequestsWithOneNumberAreRefused() throws Exception {
    Client client = new Client().granted();
    client.send(request(7, 1).encode());
    assertThat(client.reply().id()).isEqualTo(7);
    client.send(request(7, 1).encode());
    assertRefused(client);
  }

  /** Loans of others have no names here, and one that is over has none any more. */
  @Test
  void returningWhatIsNotLentChangesNothing() throws Exception {
    try (Client holder = new Client().granted();
        Client forger = new Client().granted()) {
      holder.send(request(7, 1).encode());
      StageReply held = holder.reply();
      forger.send(StageRequest.returning(List.of(7L, 8L, Long.MIN_VALUE, 7L)).encode());
      forger.send(request(1, 1).encode());
      StageReply forged = forger.reply();
      assertThat(forged.address()).isNotEqualTo(held.address());
      holder.send(StageRequest.returning(List.of(7L)).encode());
      holder.send(StageRequest.returning(List.of(7L)).encode());
      holder.send(request(8, 1).encode());
      assertThat(holder.reply().address()).isNotEqualTo(forged.address());
    }
    assertThat(stats.readersRefused.sum()).isZero();
  }

  @Test
  void whatIsNeverReturnedComesBackWhenItsLeaseIsOver() throws Exception {
    List<Client> holders = new ArrayList<>();
    try (Client other = new Client().granted()) {
      for (int i = 0; i < 3; i++) {
        holders.add(new Client().granted());
      }
      holders.get(2).close(); // also of one that has ended
      fillWith(holders.get(0));
      fillWith(holders.get(1));
      holders.get(0).close();
      other.send(fullRequest(1).encode());
      StageReply reply = other.reply();
      assertThat(reply.isWaiting()).isTrue();
      while (reply.isWaiting()) {
        reply = other.reply();
      }
      assertThat(reply.entries()).allMatch(StageReply.Entry::isStaged);
      assertThat(stats.loansOverdue.sum()).isPositive();
    } finally {
      for (Client holder : holders) {
        holder.close();
      }
    }
  }

  /** All of a loan, of which nothing comes back before it is returned. */
  private static StageRequest fullRequest(long id) {
    return request(id, LOAN_BYTES / DATA_BYTES);
  }

  private static void fillWith(Client client) throws IOException {
    client.send(fullRequest(1).encode());
    assertThat(client.reply().isWaiting()).isFalse();
  }

  @Test
  void aRangeThatIsNoneIsRefused() throws Exception {
    Client client = new Client().granted();
    ByteBuffer body = request(7, 1).encode();
    body.putInt(20 + 4 + 8, 5); // begins after its end
    client.send(body);
    assertRefused(client);
  }

  /** Frames that are cut, changed and mixed at random; {@code -Dstaging.seed} repeats a run. */
  @Test
  void noBytesCrashTheServerOrMakeItServeLess() throws Exception {
    long seed = Long.getLong("staging.seed", new Random().nextLong());
    int rounds = Integer.getInteger("staging.rounds", 300);
    Random random = new Random(seed);
    for (int i = 0; i < rounds; i++) {
      try (Client client = new Client()) {
        client.leaveNoPortBehind();
        if (random.nextBoolean()) {
          client.granted();
        }
        sendUntilEnded(client, randomFrames(client, random));
      }
    }
    assertThatOthersAreServed();
    assertThat(server.registeredBytes()).as("seed %d", seed).isLessThanOrEqualTo(SLAB_BYTES);
  }

  private static void sendUntilEnded(Client client, List<byte[]> frames) throws IOException {
    try {
      for (byte[] frame : frames) {
        client.sendRaw(frame);
      }
      client.socket.shutdownOutput();
      while (!client.isEnded()) {
        // replies to what was right by chance
      }
    } catch (SocketException e) {
      // it was ended before it had sent all
    }
  }

  private static List<byte[]> randomFrames(Client client, Random random) {
    List<byte[]> frames = new ArrayList<>();
    int count = 1 + random.nextInt(3);
    for (int i = 0; i < count; i++) {
      ByteBuffer body = request(random.nextInt(4) - 1, random.nextInt(8)).encode();
      for (int flips = random.nextInt(4); flips > 0; flips--) {
        body.put(random.nextInt(body.limit()), (byte) random.nextInt());
      }
      byte[] frame = ControlChannel.frameOf(body, client.seal).array();
      if (random.nextInt(3) == 0) {
        frame[random.nextInt(frame.length)] ^= (byte) (1 << random.nextInt(8));
      }
      frames.add(
          random.nextInt(4) == 0
              ? java.util.Arrays.copyOf(frame, random.nextInt(frame.length + 1))
              : frame);
    }
    return frames;
  }
}
