/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.{BarrierTaskContext, HashPartitioner, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.scalatest.tags.Slow

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

  /** The barrier stage writes a shuffle in its turn: Spark does not run a last stage of that kind over. */
  def overABarrier(context: SparkContext): Seq[(Int, Int)] =
    pairs(context)
      .groupByKey(2)
      .barrier()
      .mapPartitions { rows =>
        BarrierTaskContext.get().barrier()
        rows.map { case (key, values) => (key, values.toSeq.sorted.hashCode) }
      }
      .partitionBy(new HashPartitioner(2))
      .collect()
      .sorted
      .toSeq

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
      "spark.speculation.quantile" -> "0.5")
    with NothingLeft {
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
    assertNothingIsLeft(cluster.context)
  }
}

/** Jobs that are disturbed by the end of an executor in the middle of its READs. */
abstract class LostReaderSuite(read: Int, mark: Path, job: SparkContext => Seq[(Int, Int)])
    extends OnRdmaCluster(OnceFault.onRead("killpeer=1", read, mark)) {
  test("shuffles are done over when an executor is lost") {
    val (result, traffic) = cluster.watched(job)
    assert(Files.exists(mark), "the fault did not strike")
    assert(result == RetriedJobs.expected)
    assert(traffic.rdmaBytes > 0, traffic)
    assert(traffic.repeatedStages >= 1, traffic)
  }
}

/** Rows are dealt out in turn; the fault strikes past the first shuffle's reads, among the second's. */
final class RepartitionSuite extends LostReaderSuite(20, OnceFault.newMark(), RetriedJobs.repartitioned)

/** Spark compares checksums of the rows, and runs a stage over as a whole if they differ. */
@Slow
final class RowChecksumsSuite
    extends LostReaderSuite(50, OnceFault.newMark(), SqlJobs.repartitionedWithRowChecksums)

/** A task of a barrier stage that fails takes the others with it. */
final class BarrierSuite extends LostReaderSuite(3, OnceFault.newMark(), RetriedJobs.overABarrier)
