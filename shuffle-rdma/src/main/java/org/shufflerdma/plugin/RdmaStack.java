/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.DiskBlockManager;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.RdmaEndpoint;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.device.DeviceChoice;
import org.shufflerdma.device.LoopbackCheck;
import org.shufflerdma.device.MemoryPlan;
import org.shufflerdma.device.RdmaUnavailableException;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.OutputPaging;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.metrics.PhaseTimer;
import org.shufflerdma.node.NodeServices;
import org.shufflerdma.node.Registrar;
import org.shufflerdma.node.Registration;
import org.shufflerdma.publication.CommittedFiles;
import org.shufflerdma.publication.CommittedOutputPublisher;
import org.shufflerdma.publication.RequestedOutputs;
import org.shufflerdma.reader.LocationTable;
import org.shufflerdma.reader.RdmaSource;
import org.shufflerdma.staging.CommittedOutputs;
import org.shufflerdma.staging.Staging;
import org.shufflerdma.staging.StagingSettings;
import org.shufflerdma.verbs.ProcessLimits;
import org.shufflerdma.verbs.Provider;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Owns all objects of one executor that use its device, from the transport up to the publisher of the
 * writers and the source of the readers. The executor's side closes it, in reverse order.
 *
 * @param rail as {@link org.shufflerdma.device.RailUse#position} has it
 * @param pins whether the kernel pins registered memory
 *
 * @param paging of the map outputs
 * @param acquired what the close gives back
 */
record RdmaStack(
    RdmaTransport transport,
    MemoryPlan plan,
    int rail,
    boolean pins,
    OutputPaging paging,
    RegisteredArena arena,
    MapOutputRegistry registry,
    Staging staging,
    CommittedOutputPublisher publisher,
    RdmaSource source,
    Acquired acquired)
    implements AutoCloseable {
  private static final int MIN_SECRET_BYTES = 16;
  private static final int MAX_SECRET_BYTES = 256;

  /** Spark's executors have some 250 open, and RDMA wants room for connections and files of its own. */
  private static final long LEAST_DESCRIPTORS = 512;

  private static final String DEVICE_PURPOSE = "software-device-v1";

  /** In a path that hosts which share a file system must not share. */
  private static final String HOST = "{host}";

  private static final String ATTEMPT = "spark.app.attempt.id";
  private static final String SHUFFLE_SERVICE = "spark.shuffle.service.enabled";
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  /** What a stack is opened with. */
  @SuppressWarnings("ArrayRecordComponent")
  private record Opening(
      SparkEnv env,
      RdmaSettings settings,
      IndexShuffleBlockResolver resolver,
      boolean publishes,
      byte[] token,
      PhaseTimer timer) {}

  /**
   * Opens the device and listens for connections.
   *
   * @param publishes as {@link ExecutorSide#open} has it
   * @param token shared by the executors of this application; takes the place of Spark's secret where
   *     Spark has none
   * @param timer of the start, which is told of the phases
   */
  static RdmaStack open(
      SparkEnv env,
      RdmaSettings settings,
      IndexShuffleBlockResolver resolver,
      boolean publishes,
      byte[] token,
      PhaseTimer timer)
      throws RdmaUnavailableException {
    requireDescriptors(ProcessLimits.read().descriptors());
    Opening with = new Opening(env, settings, resolver, publishes, token, timer);
    try {
      InetAddress ownAddress =
          InetAddress.getByName(env.blockManager().blockManagerId().host());
      List<String> refused = new ArrayList<>();
      for (DeviceChoice choice : DeviceChoice.of(settings, DeviceChoice.HARDWARE, ownAddress)) {
        try {
          RdmaStack stack = withPaging(with, choice);
          LOG.info(
              "Shuffle blocks are read by RDMA over device {} ({}{}) at {}",
              choice.hardwareName() == null
                  ? stack.transport.device().name()
                  : choice.hardwareName(),
              choice.reason(),
              refused.isEmpty() ? "" : ": " + String.join("; ", refused),
              stack.transport.endpoint());
          LOG.info(
              "Executors prove to one another that they know {}",
              env.securityManager().isAuthenticationEnabled()
                  ? "Spark's secret of the application"
                  : "a token of the application, which is no security: spark.authenticate is false");
          LOG.info("{}", stack.plan);
          LOG.info("RDMA started in {}", timer);
          return stack;
        } catch (IOException | RdmaUnavailableException | RuntimeException e) {
          refused.add(String.valueOf(e.getMessage()));
        }
      }
      throw new RdmaUnavailableException(String.join("; ", refused));
    } catch (IOException | RuntimeException | LinkageError | OutOfMemoryError e) {
      throw new RdmaUnavailableException(e.toString(), e);
    }
  }

  /** Map outputs are pinned if the device fails the proof with on-demand paging. */
  private static RdmaStack withPaging(Opening with, DeviceChoice choice)
      throws IOException, RdmaUnavailableException {
    if (with.settings.onDemand()) {
      try {
        return open(with, choice, OutputPaging.ON_DEMAND);
      } catch (IOException | RdmaUnavailableException e) {
        LOG.warn(
            "Map outputs are pinned, although {} is true: {}",
            with.settings.key("onDemand"),
            e.getMessage());
      }
    }
    return open(with, choice, OutputPaging.PINNED);
  }

  private static RdmaStack open(Opening with, DeviceChoice choice, OutputPaging paging)
      throws IOException, RdmaUnavailableException {
    Acquired acquired = new Acquired();
    try {
      DeviceChoice.Bound device = choice.bind(with.settings);
      acquired.keep(device.use());
      with.timer.ended("natives");
      RdmaStack stack = open(with, device, paging, acquired);
      with.timer.ended("rest");
      if (choice.toBeProven() || paging == OutputPaging.ON_DEMAND) {
        LoopbackCheck.run(
            stack.transport,
            stack.registry,
            stack.source.fetcher(),
            with.env.executorId(),
            with.env.blockManager().diskBlockManager().localDirs()[0].toPath());
        with.timer.ended("proof");
      }
      return stack;
    } catch (Throwable t) {
      acquired.close();
      throw t;
    }
  }

  /** Without RDMA an executor can do its work with few. */
  static void requireDescriptors(long most) throws RdmaUnavailableException {
    if (most < LEAST_DESCRIPTORS) {
      throw new RdmaUnavailableException("this process may have " + most
          + " files open, and RDMA needs " + LEAST_DESCRIPTORS
          + ": raise the limit with `ulimit -n`, /etc/security/limits.d or LimitNOFILE= of the service that"
          + " starts the executors");
    }
  }

  /** The software device refuses secrets that whoever sees a proof could guess. */
  static void requireUsableSecret(int bytes) throws RdmaUnavailableException {
    if (bytes < MIN_SECRET_BYTES || bytes > MAX_SECRET_BYTES) {
      throw new RdmaUnavailableException("spark.authenticate.secret has " + bytes
          + " bytes, and the software device takes " + MIN_SECRET_BYTES + " to " + MAX_SECRET_BYTES
          + ": set another one, as `openssl rand -hex 32` draws it");
    }
  }

  private static RdmaStack open(
      Opening with, DeviceChoice.Bound device, OutputPaging paging, Acquired acquired)
      throws IOException, RdmaUnavailableException {
    SparkEnv env = with.env;
    RdmaSettings settings = with.settings;
    byte[] secret = env.securityManager().isAuthenticationEnabled()
        ? env.securityManager().getSecretKey().getBytes(StandardCharsets.UTF_8)
        : with.token;
    boolean isSoft = device.verbs().provider() == Provider.SOFT;
    LocalIdentity identity = new LocalIdentity(applicationOf(env.conf()), env.executorId(), secret);
    byte[] deviceSecret = isSoft ? identity.key(DEVICE_PURPOSE) : new byte[0];
    if (isSoft) {
      requireUsableSecret(secret.length);
      device.verbs().setSecret(deviceSecret);
    }
    boolean pins = device.pins();
    MemoryPlan plan = MemoryPlan.of(settings, SparkMemorySettings.memory(env.conf()), pins);
    RdmaTransport transport = acquired.keep(RdmaTransport.open(
        TransportSettings.of(settings, plan.poolBytes(), device.address()),
        device.deviceName(),
        identity,
        with.timer));
    if (paging == OutputPaging.ON_DEMAND && !transport.device().odp()) {
      throw new IOException(
          "device " + transport.device().name() + " has no on-demand paging for READs");
    }
    RegisteredArena arena = acquired.keep(new RegisteredArena(
        transport.protectionDomain(),
        new RegistrationBudget(
            Math.max(0, plan.outputBytes() - transport.canaryBytes()),
            plan + "; " + settings.key("maxRegisteredBytes") + " sets the sum")));
    MapOutputRegistry registry = acquired.keep(new MapOutputRegistry(
        transport.protectionDomain(),
        arena,
        paging,
        new DescriptorSeal(transport.identity().key(DescriptorSeal.PURPOSE)),
        settings.withdrawGraceMs(),
        System::nanoTime));
    DiskBlockManager disks = env.blockManager().diskBlockManager();
    CommittedOutputs outputs = with.publishes
        ? new CommittedFiles(disks)
        : acquired.keep(new RequestedOutputs(disks, registry, settings.checksum()));
    Staging staging = acquired.keep(Staging.open(
        transport,
        outputs,
        StagingSettings.of(
            plan.stagingBytes(),
            Runtime.getRuntime().availableProcessors(),
            settings.connectTimeoutMs(),
            settings.withdrawGraceMs())));
    if (plan.stagingBytes() > 0 && !staging.stages()) {
      LOG.warn(
          "Map outputs that find no room come by TCP: {} bytes for staging are fewer than one reader"
              + " needs. Raise {} or {}",
          plan.stagingBytes(),
          settings.key("stagingBytes"),
          settings.key("maxRegisteredBytes"));
    }
    NodeServices services = null;
    if (env.conf().getBoolean(SHUFFLE_SERVICE, false) && settings.nodeServicePort() != 0) {
      services =
          new NodeServices(identity, settings.nodeServicePort(), settings.connectTimeoutMs());
      register(env, settings, identity, deviceSecret, acquired);
    }
    RdmaSource source = acquired.keep(RdmaSource.open(
        transport,
        staging.clients(),
        services,
        FetchSettings.of(Runtime.getRuntime().availableProcessors(), settings.withdrawGraceMs()),
        new LocationTable(env.mapOutputTracker())));
    CommittedOutputPublisher publisher = new CommittedOutputPublisher(
        env.conf(),
        settings.checksum(),
        with.resolver,
        registry,
        publishedEndpointOf(transport),
        staging.stages(),
        env.executorId());
    return new RdmaStack(
        transport,
        plan,
        device.use().position(),
        pins,
        paging,
        arena,
        registry,
        staging,
        publisher,
        source,
        acquired);
  }

  /** Where peers connect to this executor. */
  PublishedEndpoint publishedEndpoint() {
    return publishedEndpointOf(transport);
  }

  private static PublishedEndpoint publishedEndpointOf(RdmaTransport transport) {
    RdmaEndpoint at = transport.endpoint();
    return new PublishedEndpoint(at.host(), at.port(), at.bootNonce().toHex());
  }

  /** The attempts of an application on YARN have the same id, and map outputs of the same names. */
  private static String applicationOf(SparkConf conf) {
    String attempt = conf.get(ATTEMPT, "");
    return attempt.isEmpty() ? conf.getAppId() : conf.getAppId() + "_" + attempt;
  }

  /** Tells the node service of this host where the map outputs are, unless it could not name them. */
  private static void register(
      SparkEnv env,
      RdmaSettings settings,
      LocalIdentity identity,
      byte[] deviceSecret,
      Acquired acquired) {
    try {
      String host = env.blockManager().blockManagerId().host();
      Registrar registrar = Registrar.start(
          Path.of(settings.nodeServiceSocket().replace(HOST, host)),
          new Registration(
              identity.appId(),
              identity.forNodeService().secret(),
              deviceSecret,
              CommittedFiles.foldersOf(env.blockManager().diskBlockManager())));
      acquired.keep(registrar::close);
    } catch (RuntimeException e) {
      LOG.warn(
          "This executor cannot register with a node service: {}. When it has ended, its map outputs come by TCP",
          e.getMessage());
    }
  }

  /** Returns the registered bytes of map outputs, their descriptors, staging and fetch buffers. */
  long registeredBytes() {
    return registry.registeredBytes()
        + arena.registeredBytes()
        + staging.registeredBytes()
        + transport.canaryBytes()
        + transport.buffers().usage().registeredBytes();
  }

  /** Returns the part of them that the kernel keeps in memory. */
  long pinnedBytes() {
    if (!pins) {
      return 0;
    }
    return paging == OutputPaging.PINNED
        ? registeredBytes()
        : registeredBytes() - registry.registeredBytes();
  }

  void shuffleRemoved(int shuffleId) {
    source.fetcher().forgetShuffle(shuffleId);
    registry.removeShuffle(shuffleId);
    staging.forgetShuffle(shuffleId);
  }

  @Override
  public void close() {
    acquired.close();
  }
}
