/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.util.Map;
import org.apache.spark.util.kvstore.KVIndex;
import org.shufflerdma.metrics.ReadCount;

/**
 * What an executor has, and what its tasks have read, as Spark's store of the application's status keeps it. Otherwise like
 * {@link StageRecord}.
 */
public final class ExecutorRecord {
  @KVIndex
  public String id = "";

  /** The last one that the executor has reported; without a device and a reason before that. */
  public ExecutorState state = new ExecutorState();

  /** Tasks that have ended with counts. */
  public int tasks;

  /** The counts that are not 0, by their public names. */
  public Map<String, Long> counts = Map.of();

  /** Whether it has gone. */
  public boolean removed;

  /** For Jackson, and for whoever sets the fields. */
  public ExecutorRecord() {}

  long count(ReadCount count) {
    return counts.getOrDefault(count.publicName(), 0L);
  }
}
