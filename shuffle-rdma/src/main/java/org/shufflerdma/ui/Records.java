/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import org.apache.spark.util.kvstore.KVStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes records to Spark's store of the application's status, which remains Spark's. Used by Spark's thread for listeners alone. */
final class Records {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  /** What is done with the store. */
  interface Step {
    void run(KVStore store) throws Exception;
  }

  private final KVStore store;
  private boolean failed;

  Records(KVStore store) {
    this.store = store;
  }

  /** Does it; the first failure is logged as a warning that names what is lacking from then on. */
  void run(Step step, String what) {
    try {
      step.run(store);
    } catch (Exception
        | LinkageError e) { // which would end Spark's thread, and the application with it
      if (!failed) {
        LOG.warn("The RDMA tab lacks {}: {}", what, e.toString());
      }
      failed = true;
      LOG.debug("The RDMA tab lacks {}", what, e);
    }
  }
}
