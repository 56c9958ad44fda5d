/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.util.Map;
import org.apache.spark.util.kvstore.KVIndex;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.metrics.ReadCount;

/**
 * What the tasks of one attempt of a stage have read, as Spark's store of the application's status keeps it. The history server may
 * write it to a disk as JSON and read it back, therefore the public fields. Never changed once it has been written.
 */
public final class StageRecord {
  /** How a stage stands. */
  public enum State {
    RUNNING,
    COMPLETE,
    FAILED
  }

  private static final int ATTEMPT_BITS = 16;

  /** In the order of stages and their attempts. */
  @KVIndex
  public long id;

  public int stageId;
  public int attempt;
  public String name = "";
  public State state = State.RUNNING;

  /** Tasks that have ended. */
  public int tasks;

  /** For which they ran, together. */
  public long runMs;

  /** The counts that are not 0, by their public names. */
  public Map<String, Long> counts = Map.of();

  /** What the driver's log says of the stage, or null. */
  public @Nullable String verdict;

  /** For Jackson, and for whoever sets the fields. */
  public StageRecord() {}

  /** Returns the key of an attempt. */
  public static long idOf(int stageId, int attempt) {
    return (long) stageId << ATTEMPT_BITS | attempt;
  }

  long count(ReadCount count) {
    return counts.getOrDefault(count.publicName(), 0L);
  }
}
