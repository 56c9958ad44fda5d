/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.config.ConnectionSettings;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.memory.ArenaSlice;
import org.shufflerdma.memory.PoolSettings;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegisteredBuffer;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.verbs.TestDevice;
import org.shufflerdma.verbs.Verbs;

/** Transports over {@link TestDevice}, with the limits that a test wants. */
public final class TestTransports {
  public static final byte[] SECRET = "the application's secret".getBytes(StandardCharsets.UTF_8);

  private static final int CONNECT_TIMEOUT_MS = 20_000;

  /** Shorter than a server waits for the client's last word, so that the client gives up first. */
  private static final int IMPATIENT_CONNECT_TIMEOUT_MS = 8_000;

  private TestTransports() {}

  public static Verbs verbs() throws IOException {
    return TestDevice.open();
  }

  /** For records of this transport's, as many as a test likes. */
  public static RegisteredArena arena(RdmaTransport transport) {
    return arena(transport, 1L << 40);
  }

  /** For records and map outputs of so many bytes together. */
  public static RegisteredArena arena(RdmaTransport transport, long budgetBytes) {
    return new RegisteredArena(
        transport.protectionDomain(), new RegistrationBudget(budgetBytes, "a test"));
  }

  /** Returns the settings of executors if the user sets nothing. */
  public static TransportSettings defaults(InetSocketAddress bindAddress, PoolSettings pool) {
    TransportSettings settings = TransportSettings.of(
        RdmaSettings.from(Map.of(), ""), pool.budgetBytes(), bindAddress.getAddress());
    return with(settings, Map.of("bindAddress", bindAddress, "pool", pool));
  }

  /** As executors have them, but for the time that a connect may take on a busy host. */
  public static TransportSettings settings(int port, long poolBytes) {
    return withConnectTimeout(
        defaults(
            new InetSocketAddress(TestDevice.address(), port), PoolSettings.ofBudget(poolBytes)),
        CONNECT_TIMEOUT_MS);
  }

  /** The same settings but for some, by the names of the record's components. */
  public static TransportSettings with(TransportSettings settings, Map<String, ?> changes) {
    RecordComponent[] components = TransportSettings.class.getRecordComponents();
    Set<String> names = new HashSet<>(changes.keySet());
    Class<?>[] types = new Class<?>[components.length];
    Object[] values = new Object[components.length];
    try {
      for (int i = 0; i < components.length; i++) {
        String name = components[i].getName();
        types[i] = components[i].getType();
        values[i] =
            names.remove(name) ? changes.get(name) : components[i].getAccessor().invoke(settings);
      }
      if (!names.isEmpty()) {
        throw new IllegalArgumentException("no component has the name of " + names);
      }
      return TransportSettings.class.getDeclaredConstructor(types).newInstance(values);
    } catch (ReflectiveOperationException e) {
      throw new IllegalArgumentException(String.valueOf(changes), e);
    }
  }

  public static TransportSettings withConnectTimeout(TransportSettings d, int connectTimeoutMs) {
    return with(d, Map.of("connectTimeoutMs", connectTimeoutMs));
  }

  public static TransportSettings withConnection(
      TransportSettings d, ConnectionSettings connection) {
    return with(d, Map.of("connection", connection));
  }

  /** Settings that give up on a silent peer sooner. */
  public static TransportSettings impatient(int progressTimeoutMs, int peerLostTimeoutMs) {
    return with(
        settings(0, 64 << 20),
        Map.of(
            "connectTimeoutMs", IMPATIENT_CONNECT_TIMEOUT_MS,
            "progressTimeoutMs", progressTimeoutMs,
            "peerLostTimeoutMs", peerLostTimeoutMs));
  }

  public static RdmaTransport open(String executorId) throws IOException {
    return open(executorId, settings(0, 64 << 20));
  }

  public static RdmaTransport open(String executorId, TransportSettings settings)
      throws IOException {
    return open(executorId, settings, SECRET);
  }

  public static RdmaTransport open(String executorId, TransportSettings settings, byte[] secret)
      throws IOException {
    verbs();
    return RdmaTransport.open(settings, null, new LocalIdentity("app-test", executorId, secret));
  }

  static Connection connect(RdmaTransport from, PeerId to)
      throws NoConnectionException, InterruptedException {
    return from.connections().connect(to, null, Deadline.afterMs(CONNECT_TIMEOUT_MS));
  }

  /** The refusal of a connect that must not succeed. */
  static NoConnectionException refusal(
      RdmaTransport from, PeerId to, @Nullable InetSocketAddress tcpAddress) {
    Deadline deadline = Deadline.afterMs(CONNECT_TIMEOUT_MS);
    NoConnectionException refusal = catchThrowableOfType(
        NoConnectionException.class, () -> from.connections().connect(to, tcpAddress, deadline));
    assertThat(refusal).as("no connection").isNotNull();
    return refusal;
  }

  /** Breaks the connection to a peer, as if it were the watchdog. */
  public static void breakConnection(RdmaTransport from, PeerId peer) {
    try {
      connect(from, peer).breakWith(PeerFailure.NO_PROGRESS, "of a test");
    } catch (NoConnectionException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Of the executors that these transports belong to. */
  public static DescriptorSeal seal() {
    LocalIdentity identity = new LocalIdentity("app-test", "any", SECRET);
    return new DescriptorSeal(identity.key(DescriptorSeal.PURPOSE));
  }

  public static PeerId peerOf(String executorId, RdmaTransport transport) {
    return new PeerId(executorId, transport.endpoint());
  }

  /** Posts a READ of the first bytes of a record. */
  static AwaitedCompletion post(
      RdmaTransport reader, Connection connection, ArenaSlice record, int bytes, int timeoutMs)
      throws Exception {
    RegisteredBuffer sink = reader.buffers().acquire(bytes, Deadline.afterMs(0));
    try {
      AwaitedCompletion completion = new AwaitedCompletion();
      connection.post(
          List.of(new Read(record.address(), record.rkey(), bytes, 0)),
          sink,
          completion,
          Deadline.afterMs(timeoutMs));
      return completion;
    } finally {
      sink.release();
    }
  }

  static void assertBroken(Connection connection, PeerFailure failure) {
    assertThat(connection.breakage())
        .isNotNull()
        .extracting(NoConnectionException::failure)
        .isEqualTo(failure);
  }

  /** The same few bytes of the owner's, read so many times at once. */
  static void assertReads(
      Connection connection, RdmaTransport owner, RdmaTransport reader, int times)
      throws Exception {
    try (RegisteredArena arena = TestTransports.arena(owner)) {
      ArenaSlice record = arena.allocate(64);
      record.buffer().putLong(0, 4711);
      RegisteredBuffer sink = reader.buffers().acquire(64, Deadline.afterMs(0));
      AwaitedCompletion completion = new AwaitedCompletion();
      Read one = new Read(record.address(), record.rkey(), 64, 0);
      connection.post(Collections.nCopies(times, one), sink, completion, Deadline.afterMs(5_000));
      assertThat(completion.await(Deadline.afterMs(20_000))).isNull();
      assertThat(sink.nioBuffer(0, 8).getLong()).isEqualTo(4711);
      sink.release();
    }
  }

  /** Waits until every sink is back; a list's own hold ends just after its last block is told. */
  public static void awaitNoLeases(RdmaTransport transport) throws InterruptedException {
    Deadline deadline = Deadline.afterMs(10_000);
    while (transport.buffers().usage().leasedBuffers() > 0) {
      if (deadline.expired()) {
        throw new AssertionError(
            "sinks are still leased: " + transport.buffers().usage());
      }
      TimeUnit.MILLISECONDS.sleep(1);
    }
  }
}
