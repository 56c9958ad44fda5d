/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.commit;

import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SerializedShuffleHandle;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.shufflerdma.concurrent.Acquired;
import org.shufflerdma.config.ChecksumMode;
import org.shufflerdma.config.RdmaSettings;
import org.shufflerdma.connection.LocalIdentity;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.connection.TransportSettings;
import org.shufflerdma.device.DeviceChoice;
import org.shufflerdma.device.RdmaUnavailableException;
import org.shufflerdma.location.DescriptorSeal;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import org.shufflerdma.memory.RegisteredArena;
import org.shufflerdma.memory.RegistrationBudget;
import org.shufflerdma.publication.CommittedOutputPublisher;
import org.shufflerdma.publication.RdmaShuffleWriter;
import scala.Option;

/**
 * Spark's shuffle of a local application, whose map outputs are also published on the software device.
 * It notes what each task spent in Spark's writer, and what in the plugin's around it.
 */
public final class TimedShuffleManager extends SortShuffleManager {
  private static final String EXECUTOR = "driver"; // of local mode
  private static final byte[] SECRET = new byte[32];
  private static final long POOL_BYTES = 64L << 20;

  /**
   * What one map task spent.
   *
   * @param spark in Spark's writer
   * @param added in the publication
   */
  record Task(Cost spark, Cost added) {}

  private final Acquired acquired = new Acquired();
  private final MapOutputRegistry registry;
  private final Map<ChecksumMode, CommittedOutputPublisher> publishers;
  private final List<Task> tasks = new CopyOnWriteArrayList<>();

  private volatile ChecksumMode checksums = ChecksumMode.AUTO;

  public TimedShuffleManager(SparkConf conf) throws IOException, RdmaUnavailableException {
    super(conf);
    RdmaSettings settings = RdmaSettings.from(Map.of("device", "soft"), "");
    DeviceChoice.Bound device = DeviceChoice.of(
            settings, DeviceChoice.HARDWARE, InetAddress.getLoopbackAddress())
        .get(0)
        .bind(settings);
    device.verbs().setSecret(SECRET);
    RdmaTransport transport = acquired.keep(RdmaTransport.open(
        TransportSettings.of(settings, POOL_BYTES, device.address()),
        device.deviceName(),
        new LocalIdentity("bench", EXECUTOR, SECRET)));
    RegisteredArena arena = acquired.keep(new RegisteredArena(
        transport.protectionDomain(), new RegistrationBudget(1L << 40, "a benchmark")));
    registry = acquired.keep(new MapOutputRegistry(
        transport.protectionDomain(),
        arena,
        new DescriptorSeal(transport.identity().key(DescriptorSeal.PURPOSE)),
        0,
        System::nanoTime));
    PublishedEndpoint endpoint = new PublishedEndpoint(
        transport.endpoint().host(),
        transport.endpoint().port(),
        transport.endpoint().bootNonce().toHex());
    publishers = Map.of(
        ChecksumMode.AUTO, publisher(conf, ChecksumMode.AUTO, endpoint),
        ChecksumMode.OWN, publisher(conf, ChecksumMode.OWN, endpoint));
  }

  private CommittedOutputPublisher publisher(
      SparkConf conf, ChecksumMode mode, PublishedEndpoint endpoint) {
    return new CommittedOutputPublisher(
        conf, mode, shuffleBlockResolver(), registry, endpoint, false, EXECUTOR);
  }

  /** Takes the checksums of later tasks from there. */
  void setChecksums(ChecksumMode mode) {
    checksums = mode;
  }

  MapOutputRegistry registry() {
    return registry;
  }

  /** Returns the tasks that have ended since the last call, in the order in which they did. */
  List<Task> takeTasks() {
    List<Task> taken = List.copyOf(tasks);
    tasks.clear();
    return taken;
  }

  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
    TimedWriter<K, V> spark = new TimedWriter<>(super.getWriter(handle, mapId, context, metrics));
    CommittedOutputPublisher.Task task = new CommittedOutputPublisher.Task(
        handle.shuffleId(),
        mapId,
        handle instanceof SerializedShuffleHandle,
        context,
        () -> new long[0],
        reason -> {});
    CommittedOutputPublisher publisher = Objects.requireNonNull(publishers.get(checksums));
    return new TimedWriter<>(new RdmaShuffleWriter<>(spark, publisher, task)) {
      @Override
      public Option<MapStatus> stop(boolean success) {
        Option<MapStatus> status = super.stop(success);
        tasks.add(new Task(spark.spent(), spent().minus(spark.spent())));
        return status;
      }
    };
  }

  @Override
  public boolean unregisterShuffle(int shuffleId) {
    registry.removeShuffle(shuffleId);
    return super.unregisterShuffle(shuffleId);
  }

  @Override
  public void stop() {
    acquired.close();
    super.stop();
  }
}
