/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shufflerdma.concurrent.Await;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.connection.AwaitedCompletion;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.Nonce;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.Read;
import org.shufflerdma.connection.TestTransports;
import org.shufflerdma.control.ProtocolException;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.direct.DirectFetch;
import org.shufflerdma.fetch.direct.FetchOutcome;
import org.shufflerdma.fetch.direct.PeerBlocks;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.node.NodeServices;
import org.shufflerdma.node.OutputFolders;
import org.shufflerdma.node.Registrar;
import org.shufflerdma.node.Registration;
import org.shufflerdma.staging.StagedLoan;
import org.shufflerdma.staging.StagedRange;
import org.shufflerdma.staging.Staging;
import org.shufflerdma.staging.StagingClient;
import org.shufflerdma.staging.StagingSettings;
import org.shufflerdma.verbs.TestDevice;

/** A service in a process of its own, and readers of applications whose executors are gone. */
@Timeout(180)
class NodeServiceTest {
  private static final byte[] DEVICE_SECRET =
      "the device's secret of a test".getBytes(StandardCharsets.UTF_8);
  private static final DirectFetch.Limits WIDE = new DirectFetch.Limits(48 << 20, 100, 10_000);
  private static final int SHUFFLE_ID = 7;
  private static final int SUB_DIRS = 64;
  private static final int TIMEOUT_MS = 20_000;
  private static final long[] LENGTHS = {100, 20_000, 0, 700_000};

  @TempDir
  Path directory;

  private ServiceProcess service;

  /** A reading executor of an application. */
  private final class Reader implements AutoCloseable {
    final LocalIdentity identity;
    final RdmaTransport transport;
    final Staging staging;
    final NodeServices services;
    final BlockFetcher fetcher;

    Reader(String appId, String secret) throws IOException {
      identity = new LocalIdentity(appId, "5", secret.getBytes(StandardCharsets.UTF_8));
      transport = RdmaTransport.open(TestTransports.settings(0, 64 << 20), null, identity);
      staging = Staging.open(
          transport,
          (shuffleId, mapId) -> {
            throw new IOException("this executor has no map outputs");
          },
          StagingSettings.of(0, 1, TIMEOUT_MS, 200));
      services = new NodeServices(identity, service.port, TIMEOUT_MS);
      fetcher = new BlockFetcher(
          transport, staging.clients(), services, new FetchSettings(4, 1_000, 60_000));
    }

    PeerId service() throws IOException {
      return services.find("127.0.0.1", Deadline.afterMs(TIMEOUT_MS));
    }

    Connection connection() throws Exception {
      return transport.connections().connect(service(), null, Deadline.afterMs(TIMEOUT_MS));
    }

    /** What comes and what is left of blocks whose executor is gone, by the numbers of the blocks. */
    FetchOutcome read(long... mapIds) throws InterruptedException {
      PeerBlocks reads = goneExecutor();
      for (long mapId : mapIds) {
        for (int partition : new int[] {0, 1, 3}) {
          reads.add(
              new DescriptorRef(4096, 1, 1, SHUFFLE_ID, mapId, LENGTHS.length),
              partition,
              partition + 1);
        }
      }
      try (DirectFetch fetch = fetcher.direct(List.of(reads), WIDE, () -> {})) {
        FetchOutcome outcome = FetchOutcome.of(fetch);
        assertThat(outcome.origins()).isSubsetOf(Origin.NODE_SERVICE);
        return outcome;
      }
    }

    @Override
    public void close() {
      fetcher.close();
      staging.close();
      transport.close();
    }
  }

  @BeforeAll
  static void shareTheDevicesSecret() throws Exception {
    if (TestDevice.isSoft()) {
      TestDevice.open().setSecret(DEVICE_SECRET);
    } else {
      TestDevice.open();
    }
  }

  @BeforeEach
  void start() throws Exception {
    service = new ServiceProcess(directory, 32 << 20);
  }

  @AfterEach
  void stop() throws Exception {
    service.close();
  }

  /** Nobody listens at its port. */
  private static PeerBlocks goneExecutor() {
    return new PeerBlocks(
        new PeerId(
            "1", new RdmaEndpoint(TestDevice.address().getHostAddress(), 1, new Nonce(1, 2))),
        InetSocketAddress.createUnresolved("127.0.0.1", 7337));
  }

  private OutputFolders folders(String executor) throws IOException {
    List<Path> localDirs = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      Path dir = directory.resolve(executor + "-" + i);
      localDirs.add(Files.createDirectories(dir));
    }
    return new OutputFolders(localDirs, SUB_DIRS);
  }

  private Path file(OutputFolders folders, String name) throws IOException {
    OutputFolders.Place place = folders.placeOf(name);
    return Files.createDirectories(place.localDir().resolve(place.subDir())).resolve(name);
  }

  private Path dataOf(OutputFolders folders, long mapId) throws IOException {
    return file(folders, "shuffle_%d_%d_0.data".formatted(SHUFFLE_ID, mapId));
  }

  private Path indexOf(OutputFolders folders, long mapId) throws IOException {
    return file(folders, "shuffle_%d_%d_0.index".formatted(SHUFFLE_ID, mapId));
  }

  private void commit(OutputFolders folders, long mapId) throws IOException {
    ByteBuffer index = ByteBuffer.allocate((LENGTHS.length + 1) * Long.BYTES).putLong(0);
    long end = 0;
    for (long length : LENGTHS) {
      end += length;
      index.putLong(end);
    }
    Files.write(indexOf(folders, mapId), index.array());
    Files.write(dataOf(folders, mapId), bytesOf(mapId));
  }

  private static byte[] bytesOf(long mapId) {
    byte[] data = new byte[Math.toIntExact(Arrays.stream(LENGTHS).sum())];
    new Random(mapId).nextBytes(data);
    return data;
  }

  private void register(LocalIdentity identity, OutputFolders folders) throws IOException {
    Registrar.register(
        service.socket,
        new Registration(
            identity.appId(),
            identity.forNodeService().secret(),
            TestDevice.isSoft() ? DEVICE_SECRET : new byte[0],
            folders),
        Deadline.afterMs(TIMEOUT_MS));
  }

  /** As executors do, until the system has accepted the connections that came before. */
  private void registerWhenThereIsRoom(LocalIdentity identity, OutputFolders folders)
      throws Exception {
    Deadline deadline = Deadline.afterMs(TIMEOUT_MS);
    while (true) {
      try {
        register(identity, folders);
        return;
      } catch (IOException e) {
        if (deadline.expired()) {
          throw e;
        }
        Thread.sleep(10);
      }
    }
  }

  private static void assertWhole(FetchOutcome outcome, long... mapIds) {
    assertThat(outcome.left()).isEmpty();
    assertThat(outcome.blocks()).hasSize(3 * mapIds.length);
    for (int map = 0; map < mapIds.length; map++) {
      byte[] data = bytesOf(mapIds[map]);
      assertThat(outcome.blocks().get(3 * map)).isEqualTo(Arrays.copyOf(data, 100));
      assertThat(outcome.blocks().get(3 * map + 1))
          .isEqualTo(Arrays.copyOfRange(data, 100, 20_100));
      assertThat(outcome.blocks().get(3 * map + 2))
          .isEqualTo(Arrays.copyOfRange(data, 20_100, 720_100));
    }
  }

  private static void assertLeft(FetchOutcome outcome, int blocks, TcpReason reason) {
    assertThat(outcome.blocks()).isEmpty();
    assertThat(outcome.left()).hasSize(blocks).containsValue(reason);
    assertThat(outcome.left().values()).containsOnly(reason);
  }

  @Test
  void blocksOfExecutorsThatAreGoneComeFromTheService() throws Exception {
    OutputFolders first = folders("first");
    OutputFolders second = folders("second");
    commit(first, 10);
    commit(second, 11);
    try (Reader reader = new Reader("app-1", "a secret")) {
      register(reader.identity, first);
      register(reader.identity, second);
      assertWhole(reader.read(10, 11), 10, 11);
      assertThat(service.metric(ServiceMetric.STAGED_BYTES_TOTAL))
          .isGreaterThanOrEqualTo(1_440_200);
      Map<String, Object> attributes = service.attributes();
      assertThat(attributes).hasSize(ServiceMetric.values().length);
      for (ServiceMetric metric : ServiceMetric.values()) {
        assertThat(attributes).containsEntry(metric.publicName(), service.metric(metric));
      }
    }
  }

  @Test
  void anOutputThatIsNotThereIsLeftToTcp() throws Exception {
    OutputFolders folders = folders("first");
    try (Reader reader = new Reader("app-1", "a secret")) {
      register(reader.identity, folders);
      assertLeft(reader.read(10), 3, TcpReason.STAGING);
    }
  }

  @Test
  void aServiceThatWasKilledIsDoneWithoutAndUsedAgainWhenItHasStarted() throws Exception {
    OutputFolders folders = folders("first");
    commit(folders, 10);
    try (Reader reader = new Reader("app-1", "a secret")) {
      register(reader.identity, folders);
      assertWhole(reader.read(10), 10);
      service.kill();
      assertThat(reader.read(10).left()).hasSize(3);
      service.start();
      long sinceNs = System.nanoTime();
      FetchOutcome outcome = reader.read(10);
      while (!outcome.left().isEmpty()) {
        Thread.sleep(200);
        outcome = reader.read(10);
      }
      assertWhole(outcome, 10);
      System.out.printf(
          "used again after %d ms%n", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sinceNs));
    }
  }

  @Test
  void anApplicationThatHasLostItsDeviceIsServedAgain() throws Exception {
    assumeThat(TestDevice.isSoft())
        .as("faults are asked of the software device")
        .isTrue();
    OutputFolders folders = folders("first");
    commit(folders, 10);
    try (Reader reader = new Reader("app-1", "a secret")) {
      register(reader.identity, folders);
      assertWhole(reader.read(10), 10);
      service.faults.say("raise DEVICE_FATAL");
      while (service.page("/health").equals("ok\n")) {
        Thread.sleep(1);
      }
      while (!reader.read(10).left().isEmpty()) {
        Thread.sleep(200);
      }
      assertWhole(reader.read(10), 10);
      assertThat(service.page("/health")).isEqualTo("ok\n");
      assertThat(service.metric(ServiceMetric.APPLICATIONS_FAILED)).isZero();
    }
  }

  @Test
  void whoSaysNothingKeepsNoExecutorFromRegistering() throws Exception {
    List<SocketChannel> silent = new ArrayList<>();
    try (Reader reader = new Reader("app-1", "a secret")) {
      for (int i = 0; i < 2_000; i++) {
        SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        silent.add(channel);
        channel.configureBlocking(false);
        try {
          channel.connect(UnixDomainSocketAddress.of(service.socket));
        } catch (IOException e) {
          channel.close(); // for the moment there are too many
        }
      }
      OutputFolders folders = folders("first");
      registerWhenThereIsRoom(reader.identity, folders);
      assertThat(service.metric(ServiceMetric.EXECUTORS)).isEqualTo(1);
    } finally {
      for (SocketChannel channel : silent) {
        channel.close();
      }
    }
  }

  @Test
  void halfRequestsDoNotKeepOthersFromTheStatusPage() throws Exception {
    List<Socket> halves = new ArrayList<>();
    try {
      for (int i = 0; i < 2; i++) {
        halves.add(service.halfRequest());
      }
      assertThat(service.page("/health")).isEqualTo("ok\n");
      for (Socket half : halves) { // the page came before the service gave up on them
        half.setSoTimeout(1);
        assertThatThrownBy(() -> half.getInputStream().read())
            .isInstanceOf(SocketTimeoutException.class);
      }
    } finally {
      for (Socket half : halves) {
        half.close();
      }
    }
  }

  @Test
  void whoDoesNotKnowTheSecretIsNotAnswered() throws Exception {
    OutputFolders folders = folders("first");
    commit(folders, 10);
    try (Reader reader = new Reader("app-1", "a secret");
        Reader guessing = new Reader("app-1", "a guess");
        Reader unknown = new Reader("app-2", "a secret")) {
      register(reader.identity, folders);
      assertThatThrownBy(guessing::service).isInstanceOf(IOException.class);
      assertThatThrownBy(unknown::service).isInstanceOf(IOException.class);
      assertThat(guessing.read(10).left()).hasSize(3);
      assertThat(service.metric(ServiceMetric.LOOKUPS_TOTAL)).isZero();
      assertThat(service.metric(ServiceMetric.LOOKUPS_REFUSED_TOTAL)).isEqualTo(2);
    }
  }

  @Test
  void theKeyOfOneApplicationIsOfNoUseOnAConnectionOfAnother() throws Exception {
    OutputFolders folders = folders("first");
    commit(folders, 10);
    try (Reader x = new Reader("app-x", "secret of x");
        Reader y = new Reader("app-y", "secret of y")) {
      register(x.identity, folders);
      register(y.identity, folders("second"));
      Connection ofX = x.connection();
      CountDownLatch answered = new CountDownLatch(1);
      x.staging.clients().connect(x.service(), ofX.stagingPort(), Deadline.afterMs(TIMEOUT_MS));
      StagedLoan loan =
          loanOf(Objects.requireNonNull(x.staging.clients().openClient(x.service())), answered);
      loan.ask(List.of(new StagedRange(SHUFFLE_ID, 10, 0, 1, 0)), loan.sizeBytes());
      assertThat(answered.await(TIMEOUT_MS, TimeUnit.MILLISECONDS)).isTrue();
      assertThat(loan.ranges().get(0).stagedBytes()).isEqualTo(100);
      Read read = new Read(loan.remoteAddress(), loan.rkey(), 100, 0);
      assertThat(failureOf(x, ofX, read)).isNull();
      assertThat(failureOf(y, y.connection(), read)).isEqualTo(TcpReason.REMOTE_ACCESS);
      loan.release();
    }
  }

  private static StagedLoan loanOf(StagingClient client, CountDownLatch answered)
      throws InterruptedException {
    StagedLoan loan;
    while ((loan = client.tryTake(() -> {})) == null) {
      Thread.sleep(10);
    }
    loan.release();
    return Objects.requireNonNull(client.tryTake(answered::countDown));
  }

  private static @Nullable TcpReason failureOf(Reader reader, Connection connection, Read read)
      throws Exception {
    RegisteredBuffer sink = reader.transport.buffers().acquire(100, Deadline.afterMs(TIMEOUT_MS));
    try {
      AwaitedCompletion completion = new AwaitedCompletion();
      connection.post(List.of(read), sink, completion, Deadline.afterMs(TIMEOUT_MS));
      var failure = completion.await(Deadline.afterMs(TIMEOUT_MS));
      return failure == null ? null : failure.tcpReason();
    } finally {
      sink.release();
    }
  }

  @Test
  void anotherKeyForAnApplicationIsRefused() throws Exception {
    try (Reader reader = new Reader("app-1", "a secret");
        Reader other = new Reader("app-1", "another secret")) {
      register(reader.identity, folders("first"));
      OutputFolders second = folders("second");
      assertThatThrownBy(() -> register(other.identity, second))
          .isInstanceOf(ProtocolException.class)
          .hasMessageContaining("another secret");
    }
  }

  @Test
  void foldersOfAnotherUserAreRefused() throws Exception {
    assumeThat(System.getProperty("user.name")).as("root can give folders away").isEqualTo("root");
    OutputFolders folders = folders("first");
    Files.setAttribute(folders.localDirs().get(1), "unix:uid", 65534);
    try (Reader reader = new Reader("app-1", "a secret")) {
      assertThatThrownBy(() -> register(reader.identity, folders))
          .isInstanceOf(ProtocolException.class)
          .hasMessageContaining("is no folder of user root");
    }
  }

  private static void giveTo(int user, OutputFolders folders) throws IOException {
    for (Path dir : folders.localDirs()) {
      try (Stream<Path> all = Files.walk(dir)) {
        for (Path path : all.toList()) {
          Files.setAttribute(path, "unix:uid", user);
          Files.setPosixFilePermissions(
              path,
              PosixFilePermissions.fromString(Files.isDirectory(path) ? "rwxr-x---" : "rw-r-----"));
        }
      }
    }
  }

  @Test
  void processesOfTwoUsersGetTheirOwnOutputsAlone() throws Exception {
    assumeThat(System.getProperty("user.name")).as("root can be other users").isEqualTo("root");
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
    RegisteringProcess process =
        new RegisteringProcess(Files.createDirectory(directory.resolve("classes")));
    int first = 64_001;
    int second = 64_002;
    OutputFolders ofFirst = folders("first");
    commit(ofFirst, 10);
    giveTo(first, ofFirst);
    OutputFolders ofSecond = folders("second");
    commit(ofSecond, 10);
    giveTo(second, ofSecond);
    Files.delete(dataOf(ofSecond, 10));
    Files.createLink(dataOf(ofSecond, 10), dataOf(ofFirst, 10));
    byte[] device = TestDevice.isSoft() ? DEVICE_SECRET : new byte[0];
    try (Reader ofApp1 = new Reader("app-1", "a secret");
        Reader ofApp2 = new Reader("app-2", "another secret")) {
      assertThat(process.register(first, service.socket, ofApp1.identity, device, ofFirst))
          .isEmpty();
      assertThat(process.register(second, service.socket, ofApp2.identity, device, ofFirst))
          .contains("is no folder of user 64002");
      assertThat(process.register(second, service.socket, ofApp1.identity, device, ofSecond))
          .contains("another user");
      assertThat(process.register(second, service.socket, ofApp2.identity, device, ofSecond))
          .isEmpty();
      assertLeft(ofApp2.read(10), 3, TcpReason.STAGING);
      Files.delete(dataOf(ofSecond, 10));
      assertWhole(ofApp1.read(10), 10);
    }
  }

  /** A pipe would keep whoever opens it waiting for the other end. */
  @Test
  void aPipeInPlaceOfAnOutputIsNotOpened() throws Exception {
    OutputFolders folders = folders("first");
    commit(folders, 10);
    commit(folders, 11);
    for (Path file : List.of(dataOf(folders, 10), indexOf(folders, 11))) {
      Files.delete(file);
      assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor())
          .isZero();
    }
    try (Reader reader = new Reader("app-1", "a secret")) {
      register(reader.identity, folders);
      assertLeft(reader.read(10, 11), 6, TcpReason.STAGING);
    }
  }

  @Test
  void symbolicLinksAndFilesOfOthersAreNotRead() throws Exception {
    OutputFolders folders = folders("first");
    commit(folders, 10);
    commit(folders, 11);
    Path data = dataOf(folders, 10);
    Path elsewhere = Files.move(data, directory.resolve("elsewhere"));
    Files.createSymbolicLink(data, elsewhere);
    Path subDir = dataOf(folders, 11).getParent();
    Path moved = Files.move(subDir, directory.resolve("moved"));
    Files.createSymbolicLink(subDir, moved);
    try (Reader reader = new Reader("app-1", "a secret")) {
      register(reader.identity, folders);
      assertLeft(reader.read(10, 11), 6, TcpReason.STAGING);
      Files.delete(data);
      Files.move(elsewhere, data);
      assertWhole(reader.read(10), 10);
      Path otherName = Files.createLink(directory.resolve("other name"), data);
      commit(folders, 13);
      Files.delete(dataOf(folders, 13));
      Files.createLink(dataOf(folders, 13), otherName);
      assertLeft(reader.read(13), 3, TcpReason.STAGING);
      if (System.getProperty("user.name").equals("root")) {
        commit(folders, 12);
        Files.setAttribute(dataOf(folders, 12), "unix:uid", 65534);
        assertLeft(reader.read(12), 3, TcpReason.STAGING);
      }
    }
  }

  @Test
  void anApplicationEndsWithItsFolders() throws Exception {
    OutputFolders folders = folders("first");
    try (Reader reader = new Reader("app-1", "a secret")) {
      register(reader.identity, folders);
      assertThat(reader.service().executorId()).isEqualTo(PeerId.NODE_SERVICE);
      assertThat(service.metric(ServiceMetric.APPLICATIONS)).isEqualTo(1);
      for (Path dir : folders.localDirs()) {
        Files.delete(dir);
      }
      Await.until(() -> service.metric(ServiceMetric.APPLICATIONS) == 0);
      assertThat(directory.resolve("grants")).isEmptyDirectory();
    }
  }
}
