/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.control.Hello;
import org.shufflerdma.control.MutualProof;

/**
 * Raw clients at the port of a node service that are no reducers of the job, or do not keep to the protocol. {@code
 * -Dreducer.frames} is the number of random frames, and {@code -Dfuzz.seed} repeats a run.
 */
@Timeout(600)
class ReducerIntruderTest {
  /** In a fetch: behind the type, the number of the request and that of the partition. */
  private static final int HOST_AT = 9;

  private static final int FRAMES = Integer.getInteger("reducer.frames", 4_000);
  private static final long SEED = Long.getLong("fuzz.seed", new Random().nextLong());
  private static final String MAP = "attempt_1700000000000_0001_m_000000_0";
  private static final int MAX_OUTPUTS = 256;
  private static final int MAX_OF_A_FETCH = 256;

  /** A half of two fifths of the service's heap of 128 MiB, of which a collector may keep a little for itself. */
  private static final int LEAST_CONNECTIONS_OF_A_USER = 150;

  /** Answers of 33 bytes, which fill 64 KiB and the largest buffers that a kernel gives a socket. */
  private static final int MOST_UNREAD = 1_000_000;

  @TempDir
  static Path directory;

  private static Scene scene;
  private static JobOutputs job;
  private static byte[] bytes;
  private long readBefore;

  @BeforeAll
  static void start() throws Exception {
    scene = new Scene(directory, 16 << 20);
    job = scene.job("alice");
    job.grant().leave();
    bytes = job.write(MAP, 500);
  }

  @AfterAll
  static void stop() throws Exception {
    scene.awaitNoMemory(20);
    scene.close();
  }

  @BeforeEach
  void count() throws Exception {
    readBefore = readBytes();
  }

  @AfterEach
  void othersAreServed() throws Exception {
    scene.assertServes(job);
  }

  private static RawReducer raw() throws IOException {
    return new RawReducer(scene.service.port);
  }

  private static RawReducer proved() throws IOException {
    return raw().prove(job.grant());
  }

  /** The service does not answer whoever says so, and ends the connection. */
  private static void assertNotAnswered(String name, byte[] key) throws IOException {
    try (RawReducer client = raw().greet(name, key)) {
      assertThat(client.awaitEnd()).as("bytes of an answer to %s", name).isZero();
    }
  }

  /** From files, for whomever. */
  private static long readBytes() throws Exception {
    return scene.service.metric("staged_bytes_total");
  }

  private void assertNothingWasRead() throws Exception {
    assertThat(readBytes()).as("bytes read").isEqualTo(readBefore);
  }

  @Test
  void theKeyOfAnotherJobIsOfNoUse() throws Exception {
    JobOutputs another = scene.job("alice", "application_1700000000000_0002");
    another.grant().leave();
    JobOutputs foreign = scene.job("mallory"); // an application of the same name
    foreign.grant().leave();
    String name = job.grant().job();
    for (JobOutputs other : List.of(another, foreign)) {
      assertNotAnswered(name, other.grant().keyFor("reducer-v1"));
      assertNotAnswered(name, keyInGrantFor(other, name));
    }
    assertNotAnswered(name, new byte[32]);
    assertNotAnswered(name, job.grant().keyFor("lookup-v2"));
    assertNothingWasRead();
    try (RawReducer client = raw().greet(name, keyInGrantFor(job, name))) {
      client.socket.shutdownOutput();
      assertThat(client.awaitEnd()).as("bytes of the answer").isPositive();
    }
  }

  /** Who listens at the port on a host without a service could send its reducers on to that of another host. */
  @Test
  void aReducerOfAnotherHostIsNotAnswered() throws Exception {
    String name = job.grant().job();
    byte[] context = (name + "\0another boot").getBytes(StandardCharsets.UTF_8);
    try (RawReducer client = raw()) {
      client.send(RawReducer.hello(name, job.grant().keyFor("reducer-v1"), context));
      assertThat(client.awaitEnd()).as("bytes of an answer").isZero();
    }
  }

  /** What who can read the job's grant knows for this name. */
  private static byte[] keyInGrantFor(JobOutputs job, String name) throws IOException {
    String grant = Files.readString(job.output("shuffle-rdma.grant"));
    byte[] key = HexFormat.of().parseHex(grant.strip().replaceFirst(".* ", ""));
    return new Hmac(key).of("reducer-v1", name);
  }

  /** All would lead to the grant of the job if they were put into a path. */
  @Test
  void aNameThatIsNoneOfAJobLeadsNowhere() throws Exception {
    String app = Scene.APPLICATION;
    Files.createSymbolicLink(scene.local.resolve("usercache/link"), job.userFolder());
    for (String name : List.of(
        "../usercache/alice/" + app,
        "alice/../alice/" + app,
        "./alice/" + app,
        "alice//" + app,
        "alice/" + app + "/",
        "alice/./" + app,
        "alice/" + app + "/../" + app,
        "alice/appcache/" + app,
        "/" + job.userFolder() + "/" + app,
        "alice/" + app + "\0x",
        "alice\0/" + app,
        "alice/" + app + "\n",
        "alice",
        "",
        "/",
        "link/" + app,
        "ALICE/" + app)) {
      assertNotAnswered(name, keyInGrantFor(job, name));
    }
    String longest = "a".repeat(64) + "/application_1234567890123456789_1234567890";
    assertNotAnswered(longest, keyInGrantFor(job, longest));
    assertNothingWasRead();
  }

  @Test
  void anOutputOfABadNameIsNotLookedFor() throws Exception {
    for (String place : List.of("..", "../..", ".", "a.b", "a".repeat(101), "name with spaces")) {
      job.write(place, 500);
    }
    Files.createSymbolicLink(job.output("linked"), job.output(MAP));
    Map<String, String> refusals = new TreeMap<>();
    try (NodeServiceClient client = scene.connect(job.grant())) {
      for (String output : List.of(
          "..",
          "../..",
          ".",
          "",
          "a.b",
          MAP + "/",
          MAP + "/.",
          "./" + MAP,
          "../output/" + MAP,
          MAP + "\0",
          MAP + "\n",
          "/" + job.output(MAP),
          "name with spaces",
          "a".repeat(101),
          "a".repeat(10_000),
          "\ud83d\ude00",
          "shuffle-rdma.grant/..")) {
        refusals.put(output, String.valueOf(Scene.fetch(client, output)));
      }
      assertThat(refusals.values()).containsOnly("NAME");
      assertThat(Scene.fetch(client, "linked")).isEqualTo("STAGING");
      assertThat(Scene.fetch(client, "shuffle-rdma")).isEqualTo("STAGING");
      assertNothingWasRead();
      assertThat(Scene.fetch(client, MAP)).isEqualTo(bytes);
    }
  }

  @Test
  void aBadHostIsNotConnectedTo() throws Exception {
    try (NodeServiceClient client = scene.connect(job.grant())) {
      for (String host : List.of(
          "",
          "a/b",
          "\0",
          "127.0.0.1\0",
          "127.0.0.1\n",
          "127.0.0.1 ",
          "a".repeat(20_000),
          "h\u00e9",
          "user@127.0.0.1")) {
        assertThat(Scene.fetch(client, 0, host, List.of(MAP)))
            .as("host %s", host)
            .containsValue("NAME");
      }
      for (String host : List.of("..", "127.0.0.9.9", "%", "::::")) { // which the resolver refuses
        assertThat(Scene.fetch(client, 0, host, List.of(MAP))).containsValue("SERVICE");
      }
      assertNothingWasRead();
    }
  }

  @Test
  void aPartitionThatIsNotThereIsRefused() throws Exception {
    try (NodeServiceClient client = scene.connect(job.grant())) {
      for (int partition : new int[] {1, 63, 64, 1 << 20, Integer.MAX_VALUE - 1}) {
        assertThat(Scene.fetch(client, partition, List.of(MAP))).containsValue("STAGING");
      }
      assertThat(Scene.fetch(client, MAP)).isEqualTo(bytes);
    }
    for (int partition : new int[] {-1, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
      try (RawReducer client = proved()) {
        client.send(RawReducer.fetch(1, partition, Scene.HOST, List.of(MAP)));
        client.socket.shutdownOutput();
        client.awaitEnd();
      }
    }
  }

  @Test
  void aRequestAgainstTheRulesIsTheEndOfTheConnection() throws Exception {
    assertEnded(RawReducer.fetch(1, 0, Scene.HOST, List.of()));
    assertEnded(RawReducer.fetch(1, 0, Scene.HOST, Collections.nCopies(MAX_OF_A_FETCH + 1, "a")));
    assertEnded(ByteBuffer.allocate(0));
    assertEnded(ByteBuffer.wrap(new byte[] {3}));
    assertEnded(ByteBuffer.allocate((32 << 10) + 1).put(0, (byte) 1));
    List<String> most = Collections.nCopies(MAX_OF_A_FETCH, MAP);
    try (RawReducer client = proved()) { // more than the bound, of which none is released
      for (int id = 0; id <= MAX_OUTPUTS / MAX_OF_A_FETCH; id++) {
        client.send(RawReducer.fetch(id, 0, Scene.HOST, most));
      }
      client.awaitEnd();
    }
    try (RawReducer client = proved()) { // the same number twice
      client.send(RawReducer.fetch(7, 0, Scene.HOST, List.of(MAP)));
      client.receive();
      client.send(RawReducer.fetch(7, 0, Scene.HOST, List.of(MAP)));
      client.awaitEnd();
    }
    try (RawReducer client = proved()) { // a frame a second time
      byte[] frame = client.frame(RawReducer.release(1, 0));
      client.sendRaw(frame);
      client.sendRaw(frame);
      client.awaitEnd();
    }
  }

  private static void assertEnded(ByteBuffer body) throws IOException {
    try (RawReducer client = proved()) {
      client.send(body);
      assertThat(client.awaitEnd()).as("bytes of an answer").isZero();
    }
  }

  @Test
  void aReleaseOfWhatIsNotHeldDoesNothing() throws Exception {
    try (NodeServiceClient client = scene.connect(job.grant())) {
      client.release(1, 0);
      int request = client.fetch(0, Scene.HOST, List.of(MAP, MAP));
      NodeServiceClient.Answer first = client.next(request);
      NodeServiceClient.Answer second = client.next(request);
      client.release(request, first.output());
      client.release(request, first.output());
      client.release(request, 65_535);
      client.release(request + 1, second.output());
      for (int i = 0; i < 20; i++) { // what it has not released is nobody else's
        job.write("attempt_1_m_%d_0".formatted(i), 600);
        Scene.fetch(client, "attempt_1_m_%d_0".formatted(i));
      }
      assertThat(Scene.bytesOf(second)).isEqualTo(bytes);
    }
  }

  @Test
  void aReducerThatReadsNoAnswersIsEnded() throws Exception {
    List<String> none = Collections.nCopies(MAX_OF_A_FETCH, "..");
    int requests = 0;
    try (NodeServiceClient other = scene.connect(job.grant());
        RawReducer client = new RawReducer(scene.service.port, 4 << 10).prove(job.grant())) {
      while (requests < MOST_UNREAD / MAX_OF_A_FETCH) {
        client.send(RawReducer.fetch(requests++, 0, Scene.HOST, none));
        Scene.fetch(other, ".."); // which is answered after those
      }
    } catch (SocketException e) {
      assertThat(requests * MAX_OF_A_FETCH).isGreaterThan(MAX_OUTPUTS).isLessThan(MOST_UNREAD);
    }
    assertThat(requests * MAX_OF_A_FETCH).isLessThan(MOST_UNREAD);
  }

  @Test
  void aUserHasSoManyConnectionsAndNoMore() throws Exception {
    List<RawReducer> open = new ArrayList<>();
    try {
      while (open.size() < 2 * LEAST_CONNECTIONS_OF_A_USER) {
        open.add(proved());
      }
      open.get(0).send(RawReducer.fetch(1, 0, Scene.HOST, List.of(MAP)));
      open.get(0).receive();
      assertThat(open.get(open.size() - 1).awaitEnd()).isZero();
      assertThat(scene.service.metric("reducers"))
          .isBetween((long) LEAST_CONNECTIONS_OF_A_USER, LEAST_CONNECTIONS_OF_A_USER + 20L);
    } finally {
      for (RawReducer client : open) {
        client.close();
      }
    }
    Await.atMost(30_000, () -> scene.service.metric("reducers") == 0);
    assertThat(scene.service.metric("reducers")).isZero();
  }

  @Test
  void randomFramesBeforeTheProofAreAnsweredByTheEnd() throws Exception {
    Random random = new Random(SEED);
    byte[] hello =
        RawReducer.hello(job.grant().job(), job.grant().keyFor("reducer-v1")).array();
    for (int i = 0; i < FRAMES; i++) {
      byte[] body = changed(hello, random);
      boolean isRight = Arrays.equals(body, hello);
      try (RawReducer client = raw()) {
        client.send(ByteBuffer.wrap(body));
        client.socket.shutdownOutput();
        long answer = client.awaitEnd();
        assertThat(answer > 0 && !isRight && !hasUnusedBytes(body, hello))
            .as("an answer to input %d of seed %d", i, SEED)
            .isFalse();
      }
    }
    assertNothingWasRead();
  }

  /** The reserved two bytes of a hello mean nothing. */
  private static boolean hasUnusedBytes(byte[] body, byte[] hello) {
    byte[] without = body.clone();
    if (body.length == hello.length) {
      System.arraycopy(hello, 6, without, 6, 2);
    }
    return Arrays.equals(without, hello);
  }

  @Test
  void randomFramesAfterTheProofNeitherCrashTheServiceNorMakeItKeepAnything() throws Exception {
    Random random = new Random(SEED);
    for (int sent = 0; sent < FRAMES; ) {
      try (RawReducer client = proved()) {
        client.socket.setSoTimeout(1); // answers are not waited for
        for (boolean ended = false; !ended && sent < FRAMES; sent++) {
          ByteBuffer body = random.nextInt(4) == 0
              ? RawReducer.release(random.nextInt(4), random.nextInt(4))
              : RawReducer.fetch(sent, 0, Scene.HOST, List.of(MAP, "attempt_2", MAP));
          byte[] valid = new byte[body.remaining()];
          body.get(valid);
          byte[] sentBody = changed(valid, random);
          keepHost(valid, sentBody);
          byte[] frame = client.frame(ByteBuffer.wrap(sentBody));
          if (random.nextInt(8) == 0) {
            frame[random.nextInt(frame.length)] ^= (byte) (1 << random.nextInt(8));
          }
          ended = isEnded(client, frame);
        }
      }
    }
  }

  /** The service would look for another host outside of this one. */
  private static void keepHost(byte[] valid, byte[] changed) {
    int end = Math.min(HOST_AT + Short.BYTES + Scene.HOST.length(), changed.length);
    if (valid.length > HOST_AT && end > HOST_AT) {
      System.arraycopy(valid, HOST_AT, changed, HOST_AT, end - HOST_AT);
    }
  }

  private static boolean isEnded(RawReducer client, byte[] frame) throws IOException {
    try {
      client.sendRaw(frame);
      while (client.socket.getInputStream().read(new byte[4096]) > 0) {}
      return true;
    } catch (SocketTimeoutException e) {
      return false;
    } catch (SocketException e) {
      return true;
    }
  }

  private static byte[] changed(byte[] valid, Random random) {
    byte[] input = valid.clone();
    for (int changes = random.nextInt(4); changes > 0 && input.length > 0; changes--) {
      int at = random.nextInt(input.length);
      switch (random.nextInt(4)) {
        case 0 -> input[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> input[at] = (byte) random.nextInt();
        case 2 -> input = Arrays.copyOf(input, at);
        default -> input = Arrays.copyOf(input, input.length + random.nextInt(64));
      }
    }
    return input;
  }

  @Test
  void aHelloOfAnotherVersionIsNotAnswered() throws Exception {
    ByteBuffer hello = RawReducer.hello(job.grant().job(), job.grant().keyFor("reducer-v1"))
        .putShort(4, (short) 1);
    try (RawReducer client = raw()) {
      client.send(hello);
      assertThat(client.awaitEnd()).isZero();
    }
    byte[] challenge = new byte[MutualProof.CHALLENGE_BYTES];
    Hello.Form unknown = new Hello.Form(0x12345678, 1, RawReducer.NAME_BYTES);
    byte[] name =
        Arrays.copyOf(job.grant().job().getBytes(StandardCharsets.UTF_8), RawReducer.NAME_BYTES);
    try (RawReducer client = raw()) {
      client.send(unknown.encode(new Hello(challenge, new byte[32], name)));
      assertThat(client.awaitEnd()).isZero();
    }
  }
}
