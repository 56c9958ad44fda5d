/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.BypassMergeSortShuffleHandle;
import org.apache.spark.shuffle.sort.SerializedShuffleHandle;
import org.apache.spark.util.RpcUtils;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.client.OutputLocations;
import org.shufflerdma.config.ChecksumMode;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.metrics.Counter;
import org.shufflerdma.metrics.PhaseTimer;
import org.shufflerdma.metrics.ReadCounters;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.publication.CommittedOutputPublisher;
import org.shufflerdma.publication.RdmaShuffleWriter;
import org.shufflerdma.reader.RdmaReaders;
import org.shufflerdma.reader.ReadRange;
import org.shufflerdma.reader.ReadingTasks;
import org.shufflerdma.reader.TaskReads;
import org.shufflerdma.ui.ExecutorState;
import org.shufflerdma.writer.BufferedShuffleWriter;
import org.shufflerdma.writer.MapOutputFiles;
import org.shufflerdma.writer.WriterChoice;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * The executor's part of the plugin. It wraps writers, creates readers and reports their counts, and
 * uses RDMA if that could be started. Its {@link ShufflePlugin} opens it at the first writer, reader or
 * task, and closes it. Any task thread may call.
 */
final class ExecutorSide implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  private final @Nullable RdmaStack rdma;
  private final @Nullable RdmaReaders readers;
  private final WriterChoice writers;
  private final MapOutputFiles files;
  private final ReadingTasks tasks = new ReadingTasks(this::taskEnded);
  private final TaskAccumulators accumulators;
  private final ReadCounters totals = new ReadCounters();
  private final ExecutorCounts counts;
  private final @Nullable ExecutorTimes times;
  private final StateReporter reporter;

  private ExecutorSide(
      SparkEnv env,
      RdmaSettings settings,
      TaskAccumulators accumulators,
      @Nullable RdmaStack rdma,
      IndexShuffleBlockResolver resolver,
      StateReporter reporter) {
    this.rdma = rdma;
    this.reporter = reporter;
    this.writers = new WriterChoice(env.conf(), settings.writer());
    this.files = new MapOutputFiles(env, resolver);
    this.accumulators = accumulators;
    this.readers = rdma == null
        ? null
        : new RdmaReaders(
            env,
            rdma.source(),
            settings.reader(),
            settings.sorter(),
            settings.checksum() != ChecksumMode.OFF,
            tasks);
    this.times = rdma == null ? null : new ExecutorTimes(rdma);
    this.counts = new ExecutorCounts(totals, rdma);
  }

  /**
   * Returns null if the driver does not answer, as nothing can be counted or authenticated then, or if this part cannot be started.
   *
   * @param publishes whether map tasks publish their outputs, which are registered when they are asked for otherwise
   */
  static @Nullable ExecutorSide open(
      SparkEnv env, RdmaSettings settings, IndexShuffleBlockResolver resolver, boolean publishes) {
    RdmaStack rdma = null;
    TaskAccumulators accumulators = null;
    String withoutRdma = null;
    RpcEndpointRef driver = null;
    try {
      PhaseTimer timer = new PhaseTimer();
      SparkMembers.requireAll();
      timer.ended("members");
      driver = RpcUtils.makeDriverRef(ApplicationGreeting.ENDPOINT_NAME, env.conf(), env.rpcEnv());
      ApplicationGreeting greeting = greet(driver);
      timer.ended("driver");
      accumulators = new TaskAccumulators(greeting.accumulators());
      rdma = RdmaStack.open(env, settings, resolver, publishes, greeting.token(), timer);
    } catch (Throwable e) { // this happens once, and each task would fail by it
      goOnWithout(settings, e);
      withoutRdma = e.getMessage();
    }
    if (driver == null || accumulators == null) {
      return null;
    }
    StateReporter reporter = null;
    try {
      reporter = StateReporter.start(driver, stateOf(env, rdma, withoutRdma));
      ExecutorSide side = new ExecutorSide(env, settings, accumulators, rdma, resolver, reporter);
      env.metricsSystem().registerSource(new ExecutorMetricsSource(side.counts, side.times));
      return side;
    } catch (Throwable e) { // such as the OutOfMemoryError of a system that gives no more threads
      if (reporter != null) {
        reporter.close();
      }
      if (rdma != null) {
        rdma.close();
      }
      goOnWithout(settings, e);
      return null;
    }
  }

  private static void goOnWithout(RdmaSettings settings, Throwable why) {
    if (settings.required()) {
      throw new IllegalStateException(
          "RDMA cannot be used and spark.shuffle.rdma.required=true: " + why.getMessage(), why);
    }
    LOG.warn("Shuffle blocks of this executor go by TCP: {}", why.getMessage());
    LOG.debug("RDMA is unavailable", why);
  }

  private static Supplier<ExecutorState> stateOf(
      SparkEnv env, @Nullable RdmaStack rdma, @Nullable String withoutRdma) {
    return () -> ExecutorReport.now(env, rdma, withoutRdma);
  }

  private static ApplicationGreeting greet(RpcEndpointRef driver) {
    ClassTag<Map<?, ?>> answerTag = ClassTag$.MODULE$.apply(Map.class);
    Map<?, ?> answer = driver.askSync(ApplicationGreeting.REQUEST, answerTag);
    return ApplicationGreeting.ofWire(answer);
  }

  <K, V> ShuffleWriter<K, V> writer(
      ShuffleHandle handle,
      long mapId,
      TaskContext context,
      ShuffleWriteMetricsReporter metrics,
      Function<ShuffleHandle, ShuffleWriter<K, V>> sparks) {
    @SuppressWarnings("unchecked") // all of Spark's handles are such
    ShuffleDependency<K, V, ?> shuffle = ((BaseShuffleHandle<K, V, ?>) handle).dependency();
    ShuffleWriter<K, V> writer;
    Supplier<long[]> checksums = () -> new long[0];
    boolean serialized = handle instanceof SerializedShuffleHandle;
    if (writers.buffers(shuffle)) {
      BufferedShuffleWriter<K, V> own = bufferedWriter(shuffle, mapId, context, metrics, sparks);
      writer = own;
      checksums = own::checksums;
      serialized = false;
    } else {
      writer = sparks.apply(handle);
    }
    if (rdma == null) {
      return writer;
    }
    return new RdmaShuffleWriter<>(
        writer,
        rdma.publisher(),
        new CommittedOutputPublisher.Task(
            handle.shuffleId(),
            mapId,
            serialized,
            context,
            checksums,
            reason -> accumulators.report(ExecutorCounts.nameOf(reason), 1)));
  }

  private <K, V> BufferedShuffleWriter<K, V> bufferedWriter(
      ShuffleDependency<K, V, ?> shuffle,
      long mapId,
      TaskContext context,
      ShuffleWriteMetricsReporter metrics,
      Function<ShuffleHandle, ShuffleWriter<K, V>> sparks) {
    @SuppressWarnings("unchecked") // nothing is combined, so the last type is V
    ShuffleDependency<K, V, V> uncombined = (ShuffleDependency<K, V, V>) shuffle;
    // Spark removes the files of map outputs for which it has made a writer. This one holds nothing
    // until it writes.
    ShuffleWriter<K, V> unused =
        sparks.apply(new BypassMergeSortShuffleHandle<>(shuffle.shuffleId(), uncombined));
    return new BufferedShuffleWriter<>(files, shuffle, mapId, context, metrics);
  }

  <K, C> ShuffleReader<K, C> reader(
      ReadRange<K, C> range,
      ShuffleReadMetricsReporter metrics,
      Supplier<ShuffleReader<K, C>> sparks) {
    TaskReads reads = tasks.of(range.context()); // counts what Spark's own reader reads, too
    if (rdma == null || readers == null) {
      return sparks.get();
    }
    reads.use(range.handle().shuffleId(), rdma.registry()::use);
    return readers.open(range, metrics);
  }

  /** Null if blocks of other executors come by TCP. */
  @Nullable
  RdmaStack rdma() {
    return rdma;
  }

  /** Counts what the task reads, also what Spark's iterators count when they end, as these are opened later. */
  void taskStarted(TaskContext task) {
    tasks.of(task);
  }

  /**
   * A client that fetches for a task by RDMA, and leaves to Spark's what RDMA cannot serve; null if there is no RDMA.
   *
   * @param locations of the map outputs that it fetches
   */
  @Nullable
  BlockStoreClient clientOf(TaskContext task, BlockStoreClient sparks, OutputLocations locations) {
    TaskReads reads = tasks.of(task); // counts what comes by TCP, too
    return readers == null ? null : readers.client(reads, sparks, locations);
  }

  void shuffleRemoved(int shuffleId) {
    if (rdma != null) {
      rdma.shuffleRemoved(shuffleId);
    }
  }

  private void taskEnded(ReadCounters counters) {
    if (rdma == null) {
      counters.add(TcpReason.RDMA_OFF, counters.get(Counter.TCP_BLOCKS));
    }
    totals.addAll(counters);
    accumulators.report(counters);
    reporter.sample();
  }

  @Override
  public void close() {
    reporter.close();
    LOG.info("Shuffle reads of this executor: {}", counts.summary());
    if (times != null) {
      times.lines().forEach(line -> LOG.info("Time of this executor: {}", line));
    }
    if (rdma != null) {
      rdma.close();
    }
  }
}
