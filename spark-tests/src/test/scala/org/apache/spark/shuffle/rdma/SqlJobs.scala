/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.apache.spark.{MapOutputTrackerMaster, SparkContext, SparkEnv}
import org.apache.spark.sql.{DataFrame, SparkSession, functions}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, AdaptiveSparkPlanHelper}

/** What a query gave, and how adaptive execution read its shuffles. */
final case class Answer(rows: Seq[String], reads: Seq[AQEShuffleReadExec])

/** Queries for each way in which adaptive execution reads a shuffle. */
object SqlJobs extends AdaptiveSparkPlanHelper {
  private val Maps = 6

  /** 50 partitions of few rows, which become one or two. */
  def coalesced(context: SparkContext): Answer = coalesced(context, inBatches = true)

  def coalescedOneByOne(context: SparkContext): Answer = coalesced(context, inBatches = false)

  private def coalesced(context: SparkContext, inBatches: Boolean): Answer = query(
    context,
    "spark.sql.shuffle.partitions" -> "50",
    "spark.sql.adaptive.fetchShuffleBlocksInBatch" -> inBatches.toString,
    "spark.sql.adaptive.coalescePartitions.parallelismFirst" -> "false") { session =>
    session.range(0, 20000, 1, Maps).selectExpr("id % 3001 as key").groupBy("key").count()
  }

  /** Three quarters of the orders are of one customer. */
  def skewed(context: SparkContext): Answer = query(
    context,
    "spark.sql.shuffle.partitions" -> "8",
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "20k",
    "spark.sql.adaptive.coalescePartitions.enabled" -> "false",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes" -> "30k") { session =>
    val orders = session
      .range(0, 40000, 1, Maps)
      .selectExpr("if(id % 4 = 0, id % 997, 7) as customer", "uuid() as filler", "id")
    val customers = session.range(0, 997, 1, 2).selectExpr("id as customer", "id % 13 as region")
    orders
      .join(customers, "customer")
      .selectExpr("region * 1000003 + id as sum", "length(filler) as length")
      .selectExpr("sum(sum)", "sum(length)", "count(1)")
  }

  /** Planned as a sort-merge join; one side turns out to be small, so the other need not move. */
  def localReaders(context: SparkContext): Answer = query(
    context,
    "spark.sql.shuffle.partitions" -> "8",
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "100k") { session =>
    val orders = session.range(0, 40000, 1, Maps).selectExpr("id", "id % 997 as customer")
    val customers = session
      .range(0, 99700, 1, 2)
      .selectExpr("id as customer", "id % 13 as region")
      .where("customer % 100 = 0")
    orders.join(customers, "customer").selectExpr("sum(id * region)", "count(1)")
  }

  /** What the maps of a shuffle report of their rows, whatever the rows' order. */
  def rowChecksums(context: SparkContext): Seq[Long] = {
    query(context, "spark.sql.shuffle.orderIndependentChecksum.enabled" -> "true") {
      _.range(0, 20000, 1, Maps).selectExpr("id % 701 as key").groupBy("key").count()
    }
    val tracker = SparkEnv.get.mapOutputTracker.asInstanceOf[MapOutputTrackerMaster]
    val (_, newest) = tracker.shuffleStatuses.maxBy { case (shuffle, _) => shuffle }
    newest.withMapStatuses(_.map(_.checksumValue).toSeq)
  }

  /** The rows of [[RetriedJobs.expected]], dealt out in turn on the way. */
  def repartitionedWithRowChecksums(context: SparkContext): Seq[(Int, Int)] =
    frame(
      context,
      "spark.sql.shuffle.partitions" -> "6",
      "spark.sql.shuffle.orderIndependentChecksum.enabled" -> "true",
      "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch" -> "true") {
      _.range(0, 20000, 1, Maps)
        .selectExpr("cast(id as int) as value")
        .repartition(24) // so many READs that any split of the tasks leaves an executor enough of them
        .groupBy(functions.expr("value % 701"))
        .agg(functions.collect_list("value"))
    }.collect().map(row => (row.getInt(0), row.getSeq[Int](1).sorted.hashCode)).sorted.toSeq

  private def query(context: SparkContext, settings: (String, String)*)(
      make: SparkSession => DataFrame): Answer = {
    val asked = frame(context, settings: _*)(make)
    val rows = asked.collect().map(_.toString).sorted.toSeq
    Answer(
      rows,
      collect(asked.queryExecution.executedPlan) { case read: AQEShuffleReadExec => read })
  }

  private def frame(context: SparkContext, settings: (String, String)*)(
      make: SparkSession => DataFrame): DataFrame = {
    val session = SparkSession.builder().sparkContext(context).getOrCreate().newSession()
    settings.foreach { case (key, value) => session.conf.set(key, value) }
    make(session)
  }
}
