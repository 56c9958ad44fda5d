/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SerializedShuffleHandle;
import org.apache.spark.util.RpcUtils;
import org.shufflerdma.concurrent.Workers;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.location.LocationTable;
import org.shufflerdma.location.PublishedEndpoint;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.memory.PoolSettings;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.ReadCounters;
import org.shufflerdma.reader.RdmaReaders;
import org.shufflerdma.verbs.Provider;
import org.shufflerdma.writer.CommittedOutputPublisher;
import org.shufflerdma.writer.RdmaShuffleWriter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Everything RDMA on one executor, from the device up. Opened at the first writer or reader, closed
 * with the shuffle manager, in reverse order. Any task thread may call.
 */
final class ExecutorSide implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");
  private static final int FALLBACK_THREADS = 8;

  private final BlockFetcher fetcher;
  private final MapOutputRegistry registry;
  private final LocationTable locations;
  private final CommittedOutputPublisher publisher;
  private final RdmaReaders readers;
  private final TaskAccumulators accumulators;
  private final Deque<AutoCloseable> acquired;
  private final ReadCounters totals = new ReadCounters();
  private final ExecutorCounts counts;
  private final AtomicBoolean hostLocalSaid = new AtomicBoolean();

  private ExecutorSide(
      SparkEnv env,
      RdmaSettings settings,
      IndexShuffleBlockResolver resolver,
      RdmaTransport transport,
      MapOutputRegistry registry,
      BlockFetcher fetcher,
      ThreadPoolExecutor fallbackThreads,
      TaskAccumulators accumulators,
      Deque<AutoCloseable> acquired) {
    this.fetcher = fetcher;
    this.registry = registry;
    this.accumulators = accumulators;
    this.acquired = acquired;
    this.locations = new LocationTable(env.mapOutputTracker());
    this.publisher = new CommittedOutputPublisher(
        env.conf(),
        settings.checksum(),
        resolver,
        registry,
        new PublishedEndpoint(
            transport.endpoint().host(),
            transport.endpoint().port(),
            transport.endpoint().bootNonce().toHex()),
        env.executorId());
    this.counts = new ExecutorCounts(totals, transport, registry, publisher);
    this.readers = new RdmaReaders(env, fetcher, locations, fallbackThreads, this::taskEnded);
  }

  static ExecutorSide open(SparkEnv env, RdmaSettings settings, IndexShuffleBlockResolver resolver)
      throws RdmaUnavailableException {
    Deque<AutoCloseable> acquired = new ArrayDeque<>();
    try {
      return open(env, settings, resolver, acquired);
    } catch (RdmaUnavailableException e) {
      closeAll(acquired);
      throw e;
    } catch (Exception | LinkageError e) { // Scala throws checked exceptions without saying so
      closeAll(acquired);
      throw new RdmaUnavailableException(e.toString(), e);
    }
  }

  private static ExecutorSide open(
      SparkEnv env,
      RdmaSettings settings,
      IndexShuffleBlockResolver resolver,
      Deque<AutoCloseable> acquired)
      throws IOException, RdmaUnavailableException {
    InetAddress ownAddress =
        InetAddress.getByName(env.blockManager().blockManagerId().host());
    DeviceChoice device = DeviceChoice.of(settings, ownAddress);
    ApplicationGreeting greeting = greet(env);
    byte[] secret = env.securityManager().isAuthenticationEnabled()
        ? env.securityManager().getSecretKey().getBytes(StandardCharsets.UTF_8)
        : greeting.token();
    if (device.verbs().provider() == Provider.SOFT) {
      device.verbs().setSecret(secret);
    }
    RdmaTransport transport = RdmaTransport.open(
        transportSettings(settings, device.address()),
        device.deviceName(),
        new LocalIdentity(env.conf().getAppId(), env.executorId(), secret));
    acquired.push(transport);
    LOG.info(
        "Shuffle blocks are read by RDMA over device {} ({}) at {}",
        transport.device().name(),
        device.reason(),
        transport.endpoint());
    RegisteredArena arena = new RegisteredArena(transport.protectionDomain());
    acquired.push(arena);
    MapOutputRegistry registry = new MapOutputRegistry(
        transport.protectionDomain(),
        arena,
        settings.maxRegisteredBytes(),
        settings.withdrawGraceMs(),
        System::nanoTime);
    acquired.push(registry);
    BlockFetcher fetcher = new BlockFetcher(
        transport, FetchSettings.forCores(Runtime.getRuntime().availableProcessors()));
    acquired.push(fetcher);
    ThreadPoolExecutor fallbackThreads = Workers.pool("rdma-fallback", FALLBACK_THREADS);
    acquired.push(fallbackThreads::shutdownNow);
    ExecutorSide side = new ExecutorSide(
        env,
        settings,
        resolver,
        transport,
        registry,
        fetcher,
        fallbackThreads,
        new TaskAccumulators(greeting.accumulators()),
        acquired);
    env.metricsSystem().registerSource(new ExecutorMetricsSource(side.counts));
    return side;
  }

  private static ApplicationGreeting greet(SparkEnv env) {
    RpcEndpointRef driver =
        RpcUtils.makeDriverRef(ApplicationGreeting.ENDPOINT_NAME, env.conf(), env.rpcEnv());
    ClassTag<Map<?, ?>> answerTag = ClassTag$.MODULE$.apply(Map.class);
    Map<?, ?> answer = driver.askSync(ApplicationGreeting.REQUEST, answerTag);
    return ApplicationGreeting.ofWire(answer);
  }

  private static TransportSettings transportSettings(RdmaSettings settings, InetAddress address) {
    PoolSettings pool = PoolSettings.ofBudget(settings.poolBytes());
    TransportSettings defaults = TransportSettings.defaults(
        new InetSocketAddress(address, 0),
        new PoolSettings(pool.budgetBytes(), pool.slabBytes(), settings.hugePages()));
    return new TransportSettings(
        defaults.bindAddress(),
        settings.sendQueueDepth(),
        Math.min(defaults.readsPerList(), settings.sendQueueDepth()),
        defaults.maxConnections(),
        defaults.maxInboundConnections(),
        defaults.maxRdAtomic(),
        settings.connectTimeoutMs(),
        settings.fetchTimeoutMs(),
        settings.peerLostTimeoutMs(),
        defaults.drainTimeoutMs(),
        defaults.breakerFailures(),
        defaults.breakerOpenMs(),
        defaults.pool());
  }

  <K, V> ShuffleWriter<K, V> publishing(
      ShuffleWriter<K, V> writer, ShuffleHandle handle, long mapId, TaskContext context) {
    return new RdmaShuffleWriter<>(
        writer,
        publisher,
        new CommittedOutputPublisher.Task(
            handle.shuffleId(), mapId, handle instanceof SerializedShuffleHandle, context));
  }

  @SuppressWarnings("unchecked")
  <K, C> ShuffleReader<K, C> reader(
      ShuffleHandle handle,
      int startMapIndex,
      int endMapIndex,
      int startPartition,
      int endPartition,
      TaskContext context,
      ShuffleReadMetricsReporter metrics) {
    return readers.open(
        (BaseShuffleHandle<K, ?, C>) handle,
        startMapIndex,
        endMapIndex,
        startPartition,
        endPartition,
        context,
        metrics);
  }

  void shuffleRemoved(int shuffleId) {
    locations.forget(shuffleId);
    fetcher.forgetShuffle(shuffleId);
    registry.removeShuffle(shuffleId);
  }

  private void taskEnded(ReadCounters counters) {
    totals.addAll(counters);
    accumulators.report(counters);
    if (counters.get(Counter.HOST_LOCAL_BLOCKS) > 0 && hostLocalSaid.compareAndSet(false, true)) {
      LOG.info("Blocks of other executors on this host are read from their files, not by RDMA;"
          + " spark.shuffle.readHostLocalDisk=false changes that");
    }
  }

  @Override
  public void close() {
    LOG.info("Shuffle by RDMA on this executor: {}", counts.summary());
    closeAll(acquired);
  }

  private static void closeAll(Deque<AutoCloseable> acquired) {
    while (!acquired.isEmpty()) {
      AutoCloseable resource = acquired.pop();
      try {
        resource.close();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (Exception e) {
        LOG.error("RDMA resource {} was not given back", resource, e);
      }
    }
  }
}
