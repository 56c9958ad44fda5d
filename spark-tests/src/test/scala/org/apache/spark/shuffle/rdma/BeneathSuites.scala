/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.apache.spark.SparkContext

/** The plugin under Spark's own shuffle manager, which writes, publishes and reads as it does by itself. */
final class BeneathSuite
    extends StockResultsSuite(
      "spark.shuffle.manager" -> "sort",
      "spark.plugins" -> "org.apache.spark.shuffle.rdma.RdmaPlugin") {
  override protected def jobs: Map[String, SparkContext => Any] = Map(
    "groupByKey" -> Jobs.groupByKey,
    "reduceByKey" -> Jobs.reduceByKey,
    "sortByKey" -> Jobs.sortByKey,
    "a job whose tasks end early" -> Jobs.endEarly,
    "a shuffle of 2100 partitions" -> Jobs.manyPartitions,
    "a join with adaptive execution" -> Jobs.joinWithAdaptiveExecution)
}
