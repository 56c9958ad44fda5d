/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.publication;

import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SerializedShuffleHandle;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/** Spark's shuffle in a local job, with the product's writer around Spark's and a fault between. */
public final class PublishingManager extends SortShuffleManager {
  /** What happens to a map output between Spark's commit and its publication. */
  interface Fault {
    void afterCommit(
        IndexShuffleBlockResolver resolver, int shuffleId, long mapId, MapStatus status)
        throws Exception;
  }

  /** How publishers are made. */
  interface Publishers {
    CommittedOutputPublisher of(SparkConf conf, IndexShuffleBlockResolver resolver);
  }

  static final AtomicReference<Publishers> PUBLISHERS = new AtomicReference<>();
  static final AtomicReference<Fault> FAULT = new AtomicReference<>();
  static final AtomicReference<CommittedOutputPublisher> PUBLISHER = new AtomicReference<>();
  static final List<MapStatus> STATUSES = new CopyOnWriteArrayList<>();

  public PublishingManager(SparkConf conf) {
    super(conf);
    PUBLISHER.set(set(PUBLISHERS).of(conf, shuffleBlockResolver()));
  }

  /** What a test has set. */
  static <T> T set(AtomicReference<T> reference) {
    return Objects.requireNonNull(reference.get());
  }

  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
    ShuffleWriter<K, V> spark = super.getWriter(handle, mapId, context, metrics);
    ShuffleWriter<K, V> faulty = new ShuffleWriter<>() {
      @Override
      public void write(Iterator<Product2<K, V>> records) throws IOException {
        spark.write(records);
      }

      @Override
      public Option<MapStatus> stop(boolean success) {
        Option<MapStatus> status = spark.stop(success);
        if (success) {
          STATUSES.add(status.get());
          try {
            set(FAULT).afterCommit(shuffleBlockResolver(), handle.shuffleId(), mapId, status.get());
          } catch (Exception e) {
            throw new AssertionError("the fault itself failed", e);
          }
        }
        return status;
      }

      @Override
      public long[] getPartitionLengths() {
        return spark.getPartitionLengths();
      }
    };
    return new RdmaShuffleWriter<>(
        faulty,
        set(PUBLISHER),
        new CommittedOutputPublisher.Task(
            handle.shuffleId(),
            mapId,
            handle instanceof SerializedShuffleHandle,
            context,
            () -> new long[0],
            reason -> {}));
  }
}
