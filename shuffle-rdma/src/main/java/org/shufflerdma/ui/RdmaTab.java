/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.ui;

import org.apache.spark.SparkContext;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.util.kvstore.KVStore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The tab with what the stages and the executors of an application have read by RDMA and otherwise. Ends with its UI. */
public final class RdmaTab extends SparkUITab {
  private static final Logger LOG = LoggerFactory.getLogger("org.shufflerdma");

  private RdmaTab(SparkUI ui) {
    super(ui, "rdma");
    attachPage(new RdmaPage(this, ui.store().store()));
  }

  @Override
  public String name() {
    return "RDMA";
  }

  /**
   * Adds the tab to the UI of an application, if it has one, and returns the store of its records. Where this Spark's UI is not as
   * the tab expects, the log says so, there is no tab, and null is returned.
   */
  public static @Nullable KVStore addTo(SparkContext context) {
    try {
      if (context.ui().isEmpty()) {
        return null;
      }
      SparkUI ui = context.ui().get();
      ui.attachTab(new RdmaTab(ui));
      return ui.store().store();
    } catch (RuntimeException | LinkageError e) {
      warn(e);
      return null;
    }
  }

  /** Adds the tab to the UI of an application that has ended, if some stage or executor of it has a record. */
  public static void addIfUsed(SparkUI ui) {
    try {
      KVStore store = ui.store().store();
      if (store.count(StageRecord.class) + store.count(ExecutorRecord.class) > 0) {
        ui.attachTab(new RdmaTab(ui));
      }
    } catch (Exception | LinkageError e) {
      warn(e);
    }
  }

  private static void warn(Throwable why) {
    LOG.warn("Spark's UI gets no RDMA tab: {}", why.toString());
    LOG.debug("Why there is no RDMA tab", why);
  }
}
