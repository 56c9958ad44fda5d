/* SPDX-License-Identifier: Apache-2.0 */

import org.apache.spark.SparkConf;

/** The short name: {@code spark.shuffle.manager=RdmaShuffleManager}. */
@SuppressWarnings("DefaultPackage")
public final class RdmaShuffleManager extends org.apache.spark.shuffle.rdma.RdmaShuffleManager {
  public RdmaShuffleManager(SparkConf conf, boolean isDriver) {
    super(conf, isDriver);
  }
}
