/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import java.util.ArrayDeque;
import java.util.Queue;
import org.apache.spark.SparkConf;
import org.apache.spark.util.kvstore.KVStore;
import org.jspecify.annotations.Nullable;

/**
 * Writes records of executors to Spark's store, which keeps those that are there, and the last ones of those that have gone. Used by
 * Spark's thread for listeners alone.
 */
public final class ExecutorRecords {
  /** Spark's default. */
  private static final int RETAINED_DEAD = 100;

  private final Records records;
  private final int retainedDead;
  private final Queue<String> dead = new ArrayDeque<>();

  private ExecutorRecords(KVStore store, int retainedDead) {
    this.records = new Records(store);
    this.retainedDead = retainedDead;
  }

  /** Records in the store of an application, which keeps as many dead executors of its own. */
  public static ExecutorRecords of(SparkConf conf, KVStore store) {
    return new ExecutorRecords(store, conf.getInt("spark.ui.retainedDeadExecutors", RETAINED_DEAD));
  }

  /** Writes the record, in the place of an earlier one of its executor. */
  public void write(ExecutorRecord record) {
    records.run(store -> store.write(record), "executors from " + record.id + " on");
  }

  /**
   * Notes that an executor with a record has gone, once.
   *
   * @return the executor whose record was deleted for this one's, or null
   */
  public @Nullable String removed(String id) {
    dead.add(id);
    if (dead.size() <= retainedDead) {
      return null;
    }
    String oldest = dead.remove();
    records.run(
        store -> store.delete(ExecutorRecord.class, oldest),
        "nothing, but executor " + oldest + " stays");
    return oldest;
  }
}
