/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import org.apache.spark.SparkConf;
import org.apache.spark.util.kvstore.KVStore;
import org.apache.spark.util.kvstore.KVStoreIterator;

/**
 * Writes records of stages to Spark's store of the application's status, which keeps the newest of them. Used by Spark's thread for
 * listeners alone.
 */
public final class StageRecords {
  /** Spark's default. */
  private static final int RETAINED = 1000;

  private final Records records;
  private final int retained;

  private StageRecords(KVStore store, int retained) {
    this.records = new Records(store);
    this.retained = retained;
  }

  /** Records in the store of an application, which keeps as many as it keeps stages. */
  public static StageRecords of(SparkConf conf, KVStore store) {
    return new StageRecords(store, conf.getInt("spark.ui.retainedStages", RETAINED));
  }

  /** Writes the record, in the place of an earlier one of its attempt. */
  public void write(StageRecord record) {
    records.run(
        store -> {
          store.write(record);
          if (store.count(StageRecord.class) > retained) {
            deleteOldest(store);
          }
        },
        "stages from stage " + record.stageId + " on");
  }

  private static void deleteOldest(KVStore store) throws Exception {
    StageRecord oldest;
    try (KVStoreIterator<StageRecord> each =
        store.view(StageRecord.class).max(1).closeableIterator()) {
      oldest = each.next();
    }
    store.delete(StageRecord.class, oldest.id);
  }
}
