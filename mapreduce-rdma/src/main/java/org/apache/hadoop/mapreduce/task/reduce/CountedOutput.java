/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.hadoop.mapreduce.task.reduce;

import java.io.IOException;
import java.io.InputStream;
import org.apache.hadoop.mapred.Reporter;

/**
 * An output that has been copied, and knows whether Hadoop has taken it: the scheduler aborts those of maps of which another
 * attempt's output has come before ({@link ShuffleSchedulerImpl#copySucceeded}). Used by one thread.
 */
final class CountedOutput<K, V> extends MapOutput<K, V> {
  private final MapOutput<K, V> copied;
  private boolean committed;

  CountedOutput(MapOutput<K, V> copied) {
    super(copied.getMapId(), copied.getSize(), copied.isPrimaryMapOutput());
    this.copied = copied;
  }

  boolean isCommitted() {
    return committed;
  }

  @Override
  public void shuffle(
      MapHost host,
      InputStream input,
      long compressedLength,
      long decompressedLength,
      ShuffleClientMetrics metrics,
      Reporter reporter) {
    throw new IllegalStateException("the output has been copied");
  }

  @Override
  public void commit() throws IOException {
    copied.commit();
    committed = true;
  }

  @Override
  public void abort() {
    copied.abort();
  }

  @Override
  public String getDescription() {
    return copied.getDescription();
  }
}
