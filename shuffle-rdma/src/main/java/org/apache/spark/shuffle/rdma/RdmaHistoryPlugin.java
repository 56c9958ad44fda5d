/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma;

import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.status.AppHistoryServerPlugin;
import org.apache.spark.status.ElementTrackingStore;
import org.apache.spark.ui.SparkUI;
import org.shufflerdma.plugin.ExecutorWatch;
import org.shufflerdma.plugin.ReplayedStages;
import org.shufflerdma.ui.ExecutorRecords;
import org.shufflerdma.ui.RdmaTab;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;

/**
 * Adds the RDMA tab to applications in Spark's history server, which finds this class by {@link java.util.ServiceLoader} if the jar is
 * on its class path ({@code SPARK_DAEMON_CLASSPATH}). Applications in which the plugin has counted and reported nothing have no tab.
 */
public final class RdmaHistoryPlugin implements AppHistoryServerPlugin, AnyListeners {
  @Override
  public Seq<SparkListener> createListeners(SparkConf conf, ElementTrackingStore store) {
    return List$.MODULE$
        .<SparkListener>empty()
        .$colon$colon(new ExecutorWatch(ExecutorRecords.of(conf, store)))
        .$colon$colon(new ReplayedStages(conf, store));
  }

  @Override
  public void setupUI(SparkUI ui) {
    RdmaTab.addIfUsed(ui);
  }
}
