/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}

/** Jobs whose tasks are run twice or over. */
object RetriedJobs {
  /** What each of them must give, computed without Spark. */
  lazy val expected: Seq[(Int, Int)] =
    (0 until 20000).groupBy(_ % 701).view.mapValues(_.sorted.hashCode).toSeq.sorted

  private def pairs(context: SparkContext): RDD[(Int, Int)] =
    context.parallelize(0 until 20000, 6).map(i => (i % 701, i))

  /** A map and a reduce task hang at their first attempt, each in the middle of its rows. */
  def straggling(context: SparkContext): Seq[(Int, Int)] =
    pairs(context)
      .mapPartitionsWithIndex((index, rows) => hangOnce(index, rows))
      .groupByKey(6)
      .mapPartitionsWithIndex((index, rows) => hangOnce(index, rows))
      .mapValues(_.toSeq.sorted.hashCode)
      .collect()
      .sorted
      .toSeq

  private def hangOnce[T](index: Int, rows: Iterator[T]): Iterator[T] =
    rows.zipWithIndex.map { case (row, position) =>
      if (index == 5 && position == 50 && TaskContext.get().attemptNumber() == 0) {
        while (true) {
          TaskContext.get().killTaskIfInterrupted()
          Thread.sleep(20)
        }
      }
      row
    }

  /** Which row goes where depends on the order in which the first shuffle's blocks came. */
  def repartitioned(context: SparkContext): Seq[(Int, Int)] =
    pairs(context)
      .groupByKey(6)
      .flatMapValues(identity)
      .repartition(8)
      .groupByKey(6)
      .mapValues(_.toSeq.sorted.hashCode)
      .collect()
      .sorted
      .toSeq
}

final class SpeculationSuite
    extends OnRdmaCluster(
      "spark.master" -> TestClusterManager.TwoHosts, // Spark puts a copy on another host only
      "spark.speculation" -> "true",
      "spark.speculation.interval" -> "100ms",
      "spark.speculation.minTaskRuntime" -> "100ms",
      "spark.speculation.quantile" -> "0.5") {
  test("tasks that hang while they write or read a shuffle are overtaken by their copies") {
    val copies = new AtomicInteger
    cluster.context.addSparkListener(new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
        if (end.taskInfo.speculative && end.taskInfo.successful) copies.incrementAndGet()
    })
    val (result, traffic) = cluster.watched(RetriedJobs.straggling)
    assert(result == RetriedJobs.expected)
    assert(copies.get >= 2)
    assert(traffic.tcpBytes == 0, traffic)
    assert(traffic.fallbacks == 0, traffic)
    assert(traffic.rdmaBytes > 0, traffic) // Spark counts the killed attempts' bytes, too
    assert(traffic.repeatedStages == 0, traffic)
  }
}

object RepartitionSuite {
  private val Mark = OnceFault.newMark()

  /** Past the reads of the first shuffle, among those of the second. */
  private val Read = 20
}

final class RepartitionSuite
    extends OnRdmaCluster(
      OnceFault.onRead("killpeer=1", RepartitionSuite.Read, RepartitionSuite.Mark)) {
  test("shuffles of rows dealt out in turn are done over when an executor is lost") {
    val (result, traffic) = cluster.watched(RetriedJobs.repartitioned)
    assert(Files.exists(RepartitionSuite.Mark), "the fault did not strike")
    assert(result == RetriedJobs.expected)
    assert(traffic.rdmaBytes > 0, traffic)
    assert(traffic.repeatedStages >= 1, traffic)
  }
}
