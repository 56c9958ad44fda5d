/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.hardware;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.concurrent.Deadline;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.Connection;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.NoConnectionException;
import org.shufflerdma.connection.PeerFailure;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.device.DeviceChoice;
import org.shufflerdma.device.DeviceTrial;
import org.shufflerdma.hardware.WayMeasurement.Failure;
import org.shufflerdma.hardware.WayMeasurement.InForce;
import org.shufflerdma.hardware.WayMeasurement.Speed;
import org.shufflerdma.hardware.WayMeasurement.Stage;
import org.shufflerdma.verbs.Access;
import org.shufflerdma.verbs.MemlockLimit;
import org.shufflerdma.verbs.MemoryRegion;
import org.shufflerdma.verbs.NativeMemory;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.verbs.QueuePairAttributes;

/**
 * One executor's part in the examination of a cluster: it examines its host, opens the plugin's own transport with a region of test bytes
 * for the others to read, and reads from them. Connections prove that both ends know the run's secret, as those of executors
 * do. One thread uses it; whoever opened it closes it, after which nothing of it is left.
 */
public final class HostExaminer implements AutoCloseable {
  private static final String DEVICE_PURPOSE = "doctor-device-v1";
  private static final String TCP_PURPOSE = "doctor-tcp-v1";
  private static final int REGION_BYTES = 8 << 20;
  private static final int CONNECT_MS = 5_000;
  private static final int TCP_PATIENCE_MS = 10_000;
  private static final long WARM_UP_NS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long CELL_NS = TimeUnit.MILLISECONDS.toNanos(200);

  private final RdmaSettings settings;
  private final LocalIdentity identity;
  private final HostFacts host = new HostFacts(Path.of("/"));
  private final Report report = new Report();
  private final Description description = new Description(report, host);
  private final List<Fault> faults = new ArrayList<>();
  private final Acquired acquired = new Acquired();
  private @Nullable DeviceTrial trial;
  private @Nullable RdmaTransport transport;

  /**
   * @param settings of the plugin, as the application has them
   * @param identity the application, this executor, and the secret of the run
   */
  public HostExaminer(RdmaSettings settings, LocalIdentity identity) {
    this.settings = settings;
    this.identity = identity;
  }

  /**
   * Examines the host. Called once. What is wrong is a fault of the result, and no exception.
   *
   * @param ownAddress what Spark calls this host
   * @param directory one of Spark's local directories
   */
  public HostExam examine(InetAddress ownAddress, Path directory) {
    try {
      description.host(directory);
      DeviceTrial chosen = DeviceTrial.choose(
          settings, DeviceChoice.HARDWARE, ownAddress, identity.key(DEVICE_PURPOSE));
      trial = chosen;
      LockedMemory locked = new LockedMemory(MemlockLimit.read(), settings);
      locked.judge(report, chosen.pins());
      report.unproven().forEach(text -> faults.add(new Fault(text, LockedMemory.COMMAND)));
      chosen.prove(settings, directory);
      return examined(chosen, offer(chosen));
    } catch (IOException | RuntimeException e) {
      faults.add(Remedies.ofHost(VerifyHardware.reason(e), host, settings));
      DeviceTrial chosen = trial;
      return chosen == null
          ? HostExam.withoutDevice(report.facts(), faults)
          : examined(chosen, null);
    }
  }

  private HostExam examined(DeviceTrial chosen, @Nullable PairOffer offer) {
    NetworkInterface of = interfaceOf(chosen.address());
    return new HostExam(
        deviceName(chosen),
        chosen.address().getHostAddress(),
        of == null ? "" : of.getName(),
        mtuOf(of),
        new LinkedHashMap<>(report.facts()),
        new ArrayList<>(faults),
        new TreeMap<>(counters()),
        offer);
  }

  private static String deviceName(DeviceTrial chosen) {
    return chosen.hardwareName() != null
        ? chosen.hardwareName()
        : chosen.deviceName() != null ? chosen.deviceName() : "soft";
  }

  private static @Nullable NetworkInterface interfaceOf(InetAddress address) {
    try {
      return NetworkInterface.getByInetAddress(address);
    } catch (IOException e) {
      return null;
    }
  }

  private static int mtuOf(@Nullable NetworkInterface of) {
    try {
      return of == null ? 0 : of.getMTU();
    } catch (IOException e) {
      return 0;
    }
  }

  private PairOffer offer(DeviceTrial chosen) throws IOException {
    RdmaTransport opened =
        acquired.keep(RdmaTransport.open(chosen.transport(), chosen.deviceName(), identity));
    transport = opened;
    description.device(opened.device(), chosen.verbs().provider() == Provider.SOFT);
    TestBytes bytes = new TestBytes(System.nanoTime());
    NativeMemory memory = acquired.keep(NativeMemory.allocate(REGION_BYTES, false));
    bytes.fill(memory.slice(0, REGION_BYTES), 0);
    MemoryRegion region = acquired.keep(
        opened.protectionDomain().register(memory.address(), REGION_BYTES, Access.REMOTE_READ));
    TcpSource tcp = acquired.keep(
        TcpSource.open(new InetSocketAddress(chosen.address(), 0), identity.key(TCP_PURPOSE)));
    RdmaEndpoint endpoint = opened.endpoint();
    return new PairOffer(
        identity.executorId(),
        endpoint.host(),
        endpoint.port(),
        endpoint.bootNonce().high(),
        endpoint.bootNonce().low(),
        region.address(),
        region.rkey(),
        REGION_BYTES,
        bytes.seed(),
        tcp.address());
  }

  /** Returns the counters of the device's port now; none where the kernel has none, as of the software device. */
  public Map<String, Long> counters() {
    DeviceTrial chosen = trial;
    String name = chosen == null ? null : chosen.hardwareName();
    if (name == null) {
      return Map.of();
    }
    int colon = name.indexOf(':');
    return Counters.read(
            host.root(),
            colon < 0 ? name : name.substring(0, colon),
            colon < 0 ? 1 : Integer.parseInt(name.substring(colon + 1)))
        .values();
  }

  /** Reads from another executor, whose examination offered something to read. What fails is told in the result. */
  public WayMeasurement measure(HostExam other) throws InterruptedException {
    RdmaTransport own = transport;
    PairOffer offer = other.offer();
    if (own == null || offer == null) {
      return WayMeasurement.failed(Stage.CONNECT, "one of both has no device");
    }
    Tcp tcp = overTcp(offer);
    long startNs = System.nanoTime();
    Connection connection;
    try {
      connection =
          own.connections().connect(offer.peer(), offer.tcp(), Deadline.afterMs(CONNECT_MS));
    } catch (NoConnectionException e) {
      return tcp.with(0, null, null, null, new Failure(stageOf(e), String.valueOf(e.getMessage())));
    }
    double connectMs = (System.nanoTime() - startNs) / 1e6;
    return byRdma(own, connection, offer, connectMs, tcp);
  }

  private static Stage stageOf(NoConnectionException e) {
    return e.failure() == PeerFailure.CANARY ? Stage.PROBE : Stage.CONNECT;
  }

  private static WayMeasurement byRdma(
      RdmaTransport own, Connection connection, PairOffer offer, double connectMs, Tcp tcp)
      throws InterruptedException {
    InForce inForce = null;
    Speed small = null;
    RemoteMemory remote = offer.memory();
    try (TransportReads reads = TransportReads.open(
        own, connection, WayMeasurement.LARGE_BYTES, WayMeasurement.LARGE_DEPTH)) {
      inForce = inForce(connection.attributes(), own.device().name());
      ByteBuffer read =
          reads.read(remote, WayMeasurement.LARGE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
      if (!new TestBytes(offer.seed()).are(read, 0)) {
        return tcp.with(
            connectMs,
            inForce,
            null,
            null,
            new Failure(Stage.BYTES, "a READ of 1 MiB brought other bytes than the peer has"));
      }
      // The first calls are slow until the JVM has compiled what they use.
      reads.timed(remote, WayMeasurement.SMALL_BYTES, 1, WARM_UP_NS);
      small = Speed.of(reads.timed(remote, WayMeasurement.SMALL_BYTES, 1, CELL_NS));
      Speed large = Speed.of(
          reads.timed(remote, WayMeasurement.LARGE_BYTES, WayMeasurement.LARGE_DEPTH, CELL_NS));
      return tcp.with(connectMs, inForce, small, large, null);
    } catch (IOException e) {
      return tcp.with(
          connectMs, inForce, small, null, new Failure(Stage.READ, String.valueOf(e.getMessage())));
    }
  }

  private static InForce inForce(QueuePairAttributes of, String device) {
    String gidType = of.gidIndex() < 0
        ? "none"
        : new PortFacts(Path.of("/"), device, of.port()).gidType(of.gidIndex());
    return new InForce(of.pathMtuBytes(), of.trafficClass(), of.gidIndex(), gidType, of.port());
  }

  /** What TCP does on a way, to which the result of RDMA is added. */
  private record Tcp(
      @Nullable Speed small,
      @Nullable Speed large,
      @Nullable String failure) {
    WayMeasurement with(
        double connectMs,
        @Nullable InForce attributes,
        @Nullable Speed readSmall,
        @Nullable Speed readLarge,
        @Nullable Failure readFailure) {
      return new WayMeasurement(
          connectMs, attributes, readSmall, readLarge, readFailure, small, large, failure);
    }
  }

  private Tcp overTcp(PairOffer offer) {
    Speed small = null;
    try (TcpReader reader =
        TcpReader.open(offer.tcp(), identity.key(TCP_PURPOSE), TCP_PATIENCE_MS)) {
      reader.timed(WayMeasurement.SMALL_BYTES, 1, WARM_UP_NS);
      small = Speed.of(reader.timed(WayMeasurement.SMALL_BYTES, 1, CELL_NS));
      Latencies large =
          reader.timed(WayMeasurement.LARGE_BYTES, WayMeasurement.LARGE_DEPTH, CELL_NS);
      return new Tcp(small, Speed.of(large), null);
    } catch (IOException e) {
      return new Tcp(small, null, String.valueOf(e.getMessage()));
    }
  }

  @Override
  public void close() {
    acquired.close();
  }
}
