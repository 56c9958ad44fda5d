/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.commit;

import java.io.IOException;
import java.util.Objects;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleWriter;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/** Hands everything on and notes what it takes. */
class TimedWriter<K, V> extends ShuffleWriter<K, V> {
  private final ShuffleWriter<K, V> writer;
  private @Nullable Cost written;
  private @Nullable Cost stopped;

  TimedWriter(ShuffleWriter<K, V> writer) {
    this.writer = writer;
  }

  @Override
  public void write(Iterator<Product2<K, V>> records) throws IOException {
    Cost before = Cost.now();
    writer.write(records);
    written = Cost.now().minus(before);
  }

  @Override
  public Option<MapStatus> stop(boolean success) {
    Cost before = Cost.now();
    Option<MapStatus> status = writer.stop(success);
    stopped = Cost.now().minus(before);
    return status;
  }

  @Override
  public long[] getPartitionLengths() {
    return writer.getPartitionLengths();
  }

  Cost spent() {
    Cost write = Objects.requireNonNull(written);
    Cost stop = Objects.requireNonNull(stopped);
    return new Cost(write.wallNs() + stop.wallNs(), write.cpuNs() + stop.cpuNs());
  }
}
