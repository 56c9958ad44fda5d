/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma;

import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;
import org.shufflerdma.plugin.BeneathDriver;
import org.shufflerdma.plugin.BeneathExecutor;

/**
 * Reads the blocks of any shuffle manager by RDMA that keeps map outputs in Spark's files and has Spark's block iterator fetch
 * them: {@code spark.plugins=org.apache.spark.shuffle.rdma.RdmaPlugin}. Constructed by Spark, once on the driver and once on
 * each executor.
 */
public class RdmaPlugin implements SparkPlugin {
  @Override
  public DriverPlugin driverPlugin() {
    return new BeneathDriver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new BeneathExecutor();
  }
}
