/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.publication;

import java.io.IOException;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleWriter;
import org.shufflerdma.mapoutput.MapOutputRegistry;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Wraps Spark's own writer and publishes its committed output for RDMA. After the commit nothing here
 * may fail the task, because its output is complete and TCP can serve it.
 */
public final class RdmaShuffleWriter<K, V> extends ShuffleWriter<K, V> {
  private final ShuffleWriter<K, V> spark;
  private final CommittedOutputPublisher publisher;
  private final CommittedOutputPublisher.Task task;
  private final MapOutputRegistry.Use use;

  public RdmaShuffleWriter(
      ShuffleWriter<K, V> spark,
      CommittedOutputPublisher publisher,
      CommittedOutputPublisher.Task task) {
    this.spark = spark;
    this.publisher = publisher;
    this.task = task;
    this.use = publisher.begin(task);
  }

  @Override
  public void write(Iterator<Product2<K, V>> records) throws IOException {
    spark.write(records);
  }

  @Override
  public Option<MapStatus> stop(boolean success) {
    Option<MapStatus> status = spark.stop(success);
    if (success && status.isDefined()) {
      publisher.publish(use, task, status.get(), spark.getPartitionLengths());
    }
    return status;
  }

  @Override
  public long[] getPartitionLengths() {
    return spark.getPartitionLengths();
  }
}
