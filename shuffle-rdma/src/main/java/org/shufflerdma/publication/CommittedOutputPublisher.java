/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.publication;

import java.io.File;
import java.io.IOException;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.config.ChecksumMode;
import org.shufflerdma.location.MapOutputTrailer;
import org.shufflerdma.mapoutput.MapOutputFile;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import org.shufflerdma.mapoutput.NotPublishedException;
import org.shufflerdma.mapoutput.PublishedOutput;
import org.shufflerdma.mapoutput.UnpublishedReason;
import org.shufflerdma.mapstatus.MapStatusCarrier;
import org.shufflerdma.mapstatus.PublishedEndpoint;
import org.shufflerdma.metrics.LatencyHistogram;
import org.shufflerdma.metrics.LogThrottle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers a committed map output and writes its location into the map status. An output that cannot be
 * registered or located has the executor's endpoint in its status, where readers have it staged. If anything
 * else fails, the status stays as Spark made it. The failure is counted by its reason, and at most one line a
 * minute is logged. One per executor; any task thread may call.
 */
public final class CommittedOutputPublisher {
  /**
   * The map task, with the state of Spark that its publication depends on.
   *
   * @param knownChecksums returns the values of Spark's file of checksums after the commit, or an empty array if the writer does not
   *     tell them
   * @param unpublished told in the task's thread if its output is not published, and why
   */
  public record Task(
      int shuffleId,
      long mapId,
      boolean serializedShuffle,
      TaskContext context,
      Supplier<long[]> knownChecksums,
      Consumer<UnpublishedReason> unpublished) {}

  /** Where Spark says that an output is, and the same with the endpoint. */
  private record Location(BlockManagerId sparks, BlockManagerId published) {}

  private static final Logger LOG = LoggerFactory.getLogger(CommittedOutputPublisher.class);

  private final IndexShuffleBlockResolver resolver;
  private final MapOutputRegistry registry;
  private final PublishedEndpoint endpoint;
  private final boolean stages;
  private final int executorHash;
  private final ChecksumSource checksums;
  private final LogThrottle throttle = new LogThrottle();
  private final Map<UnpublishedReason, LongAdder> counts = new EnumMap<>(UnpublishedReason.class);

  private final LatencyHistogram times = new LatencyHistogram();

  /** That of the last output, as it is normally that of all. */
  private volatile @Nullable Location lastLocation;

  /**
   * @param stages whether peers can have outputs staged that are not registered
   */
  public CommittedOutputPublisher(
      SparkConf conf,
      ChecksumMode checksumMode,
      IndexShuffleBlockResolver resolver,
      MapOutputRegistry registry,
      PublishedEndpoint endpoint,
      boolean stages,
      String executorId) {
    this.resolver = resolver;
    this.registry = registry;
    this.endpoint = endpoint;
    this.stages = stages;
    this.executorHash = MapOutputTrailer.hashExecutorId(executorId);
    this.checksums = ChecksumSource.of(conf, checksumMode);
    for (UnpublishedReason reason : UnpublishedReason.values()) {
      counts.put(reason, new LongAdder());
    }
  }

  /** Begins a use of the shuffle, which ends with the task. Call this when the task begins to write. */
  MapOutputRegistry.Use begin(Task task) {
    MapOutputRegistry.Use use = registry.use(task.shuffleId());
    task.context().addTaskCompletionListener(ended -> {
      use.close();
    });
    return use;
  }

  void publish(MapOutputRegistry.Use use, Task task, MapStatus status, long[] partitionLengths) {
    long startNs = System.nanoTime();
    try {
      long lengthBytes = sum(partitionLengths);
      if (lengthBytes == 0 || task.context().isInterrupted()) {
        return; // no reducer will read it: it is empty, or its task has been killed
      }
      use.admit(lengthBytes); // before the file is read for its checksums
      if (publishOutput(use, task, status, partitionLengths)) {
        times.recordSince(startNs);
      }
    } catch (NotPublishedException e) {
      stage(task, status, e.reason(), e);
    } catch (IOException e) {
      stage(task, status, UnpublishedReason.CHECKSUMS, e);
    } catch (RuntimeException | LinkageError e) {
      stage(task, status, UnpublishedReason.INTERNAL, e);
    }
  }

  /** Has readers ask this executor for an output that is not registered. */
  private void stage(
      Task task, MapStatus status, UnpublishedReason reason, @Nullable Throwable cause) {
    note(task, reason, cause);
    if (stages && reason.isOfRegistration()) {
      status.updateLocation(published(status.location()));
    }
  }

  /** False if the status cannot carry the location. */
  private boolean publishOutput(
      MapOutputRegistry.Use use, Task task, MapStatus status, long[] partitionLengths)
      throws IOException, NotPublishedException {
    File dataFile = resolver.getDataFile(task.shuffleId(), task.mapId());
    PublishedOutput output = use.publish(new MapOutputFile(
        task.shuffleId(),
        task.mapId(),
        dataFile.toPath(),
        partitionLengths,
        checksums.checksumsOf(task, resolver, dataFile, partitionLengths)));
    boolean carried = false;
    try {
      MapOutputTrailer trailer = new MapOutputTrailer(
          executorHash, output.generation(), output.descriptorRkey(), output.descriptorAddress());
      carried = MapStatusCarrier.write(status, partitionLengths.length, trailer);
      if (carried) {
        status.updateLocation(published(status.location()));
      } else {
        stage(task, status, UnpublishedReason.CARRIER, null);
      }
      return carried;
    } finally {
      if (!carried) {
        registry.retract(task.shuffleId(), output);
      }
    }
  }

  private BlockManagerId published(BlockManagerId sparks) {
    Location last = lastLocation;
    if (last == null || !last.sparks().equals(sparks)) {
      last = new Location(sparks, endpoint.addTo(sparks));
      lastLocation = last;
    }
    return last.published();
  }

  private static long sum(long[] partitionLengths) {
    long sum = 0;
    for (long length : partitionLengths) {
      sum += length;
    }
    return sum;
  }

  private void note(Task task, UnpublishedReason reason, @Nullable Throwable cause) {
    adder(reason).increment();
    task.unpublished().accept(reason);
    long held = throttle.tryLog();
    if (held >= 0 && stages && reason.isOfRoom()) {
      LOG.info(
          "Map output {} of shuffle {} is staged when it is read, as are {} others since the last such"
              + " message: {}",
          task.mapId(),
          task.shuffleId(),
          held,
          cause == null ? reason.label() : cause.getMessage());
    } else if (held >= 0) {
      LOG.warn(
          "Map output {} of shuffle {} is not registered for RDMA ({}), so {} serves it."
              + " {} other outputs were not registered since the last such message.",
          task.mapId(),
          task.shuffleId(),
          reason.label(),
          stages && reason.isOfRegistration() ? "staging" : "TCP",
          held,
          cause);
    }
  }

  /** How long it took, from Spark's commit on, to publish each output that was. */
  public LatencyHistogram times() {
    return times;
  }

  /** Map outputs that stayed unpublished for this reason. */
  public long count(UnpublishedReason reason) {
    return adder(reason).sum();
  }

  private LongAdder adder(UnpublishedReason reason) {
    return Objects.requireNonNull(counts.get(reason));
  }
}
