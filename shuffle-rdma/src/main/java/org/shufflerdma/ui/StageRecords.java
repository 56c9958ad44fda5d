/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import org.apache.spark.SparkConf;
import org.apache.spark.util.kvstore.KVStore;
import org.apache.spark.util.kvstore.KVStoreIterator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes records to Spark's store of the application's status, which keeps the newest of them. The store remains Spark's. Used by
 * Spark's thread for listeners alone.
 */
public final class StageRecords {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  /** Spark's default. */
  private static final int RETAINED = 1000;

  private final KVStore store;
  private final int retained;
  private boolean failed;

  private StageRecords(KVStore store, int retained) {
    this.store = store;
    this.retained = retained;
  }

  /** Records in the store of an application, which keeps as many as it keeps stages. */
  public static StageRecords of(SparkConf conf, KVStore store) {
    return new StageRecords(store, conf.getInt("spark.ui.retainedStages", RETAINED));
  }

  /** Writes the record, in the place of an earlier one of its attempt. */
  public void write(StageRecord record) {
    try {
      store.write(record);
      if (store.count(StageRecord.class) > retained) {
        deleteOldest();
      }
    } catch (Exception
        | LinkageError e) { // which would end Spark's thread, and the application with it
      if (!failed) {
        LOG.warn("The RDMA tab lacks stages from stage {} on: {}", record.stageId, e.toString());
      }
      failed = true;
      LOG.debug("The record of stage {} was not written", record.stageId, e);
    }
  }

  private void deleteOldest() throws Exception {
    StageRecord oldest;
    try (KVStoreIterator<StageRecord> each =
        store.view(StageRecord.class).max(1).closeableIterator()) {
      oldest = each.next();
    }
    store.delete(StageRecord.class, oldest.id);
  }
}
