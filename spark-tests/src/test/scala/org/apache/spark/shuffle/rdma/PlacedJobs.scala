/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import scala.reflect.ClassTag

import org.apache.spark.{HashPartitioner, Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.ExecutorCacheTaskLocation
import org.apache.spark.sql.SparkSession

/** The same rows, each partition computed by an executor of its own: they take turns. */
private final class Placed[T: ClassTag](rows: RDD[T]) extends RDD[T](rows) {
  private val executors: Array[String] = PlacedJobs.executors(rows.context).toArray

  override protected def getPartitions: Array[Partition] = rows.partitions

  override protected def getPreferredLocations(partition: Partition): Seq[String] =
    Seq(executors(partition.index % executors.length))

  override def compute(partition: Partition, context: TaskContext): Iterator[T] =
    rows.iterator(partition, context)
}

/** Shuffles whose tasks have their executors prescribed, so that each run reads the same blocks remotely. */
object PlacedJobs {
  /** Tasks wait for their executor. */
  val Waiting: (String, String) = "spark.locality.wait" -> "60s"

  /** As locations of tasks, once the driver knows their block managers. */
  def executors(context: SparkContext): Seq[String] = {
    val driver = context.env.blockManager
    driver.master
      .getPeers(driver.blockManagerId)
      .sortBy(_.executorId)
      .map(id => ExecutorCacheTaskLocation(id.host, id.executorId).toString)
  }

  def sorted(context: SparkContext): Any =
    new Placed(pairs(context).sortByKey(ascending = true, 8)).keys.collect().toSeq

  def grouped(context: SparkContext): Any =
    Jobs.hashed(new Placed(pairs(context).groupByKey(8)))

  def reduced(context: SparkContext): Any =
    new Placed(pairs(context).reduceByKey((a, b) => if (a > b) a else b, 8))
      .collect()
      .sorted
      .toSeq

  def repartitioned(context: SparkContext): Any = hashes(pairs(context).repartition(8))

  /** The blocks of one reducer are much larger than the others. */
  def skewed(context: SparkContext): Any =
    hashes(
      pairs(context)
        .map { case (key, value) => (if (key % 3 != 0) 0 else key, value) }
        .partitionBy(new HashPartitioner(8)))

  /** A sort-merge join whose reducers read several partitions of each map output. */
  def joined(context: SparkContext): Any = {
    val session = SparkSession.builder().sparkContext(context).getOrCreate().newSession()
    Seq(
      "spark.sql.shuffle.partitions" -> "16",
      "spark.sql.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.coalescePartitions.minPartitionSize" -> "1k",
      "spark.sql.adaptive.coalescePartitions.initialPartitionNum" -> "40").foreach {
      case (key, value) => session.conf.set(key, value)
    }
    val orders = session
      .createDataFrame(new Placed(context.parallelize(0 until 10000, 6).map(i => (i, i % 997))))
      .toDF("id", "customer")
    val customers = session
      .createDataFrame(new Placed(context.parallelize(0 until 997, 2).map(i => (i, s"name-$i"))))
      .toDF("customer", "name")
    val rows = orders.join(customers, "customer").queryExecution.toRdd
    new Placed(rows.map(_.hashCode)).collect().sorted.toSeq
  }

  private def pairs(context: SparkContext): RDD[(Int, String)] = new Placed(Jobs.pairs(context))

  private def hashes(shuffled: RDD[(Int, String)]): Seq[Int] =
    new Placed(shuffled.mapPartitions(rows => Iterator(rows.toSeq.sorted.hashCode)))
      .collect()
      .toSeq
}
