/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.file.{Files, Paths}

import scala.util.Try

import org.scalatest.tags.Slow

import org.apache.spark.{BarrierTaskContext, HashPartitioner, SparkContext}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.functions.{count_distinct, rand, sum}

/** The classes of the plugin and of the job come from a class loader that asks Spark's own last. */
@Slow
final class UserClassesFirstSuite extends StockResultsSuite("spark.executor.userClassPathFirst" -> "true") {
  override protected def jobs: Map[String, SparkContext => Any] = Map(
    "groupByKey" -> Jobs.groupByKey,
    "sortByKey" -> Jobs.sortByKey,
    "a join with adaptive execution" -> Jobs.joinWithAdaptiveExecution)
}

/** Spark cannot fetch what a barrier stage has read in part, so it runs the stage over. */
@Slow
final class FailedBarrierSuite extends OnRdmaCluster() {
  for (sorted <- Seq(false, true)) {
    test(s"a barrier stage is run over when one of its tasks fails after it has read, sorted: $sorted") {
      val (sums, traffic) = cluster.watched(OddJobs.failedBarrier(_, sorted))
      assert(sums == OddJobs.failedBarrierByHand)
      assert(traffic.repeatedStages == 1, traffic)
      assert(traffic.fetchFailures == 0, traffic)
      assert(traffic.tcpBytes == 0, traffic)
    }
  }
}

/** The rows of the first shuffle come in another order each time, and are dealt out in turn. */
@Slow
final class RandomOrderSuite
    extends OnRdmaCluster(
      OnceFault.onRead("killpeer=1", 20, RandomOrderSuite.mark),
      "spark.sql.execution.sortBeforeRepartition" -> "false",
      "spark.sql.adaptive.enabled" -> "false",
      "spark.sql.shuffle.orderIndependentChecksum.enabled" -> "true",
      "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch" -> "true") {
  test("no row is lost or doubled when an executor is lost while rows in a random order are read") {
    val (seen, traffic) = cluster.watched(OddJobs.randomOrder)
    assert(Files.exists(RandomOrderSuite.mark), "the fault did not strike")
    assert(seen == OddJobs.randomOrderByHand)
    assert(traffic.repeatedStages >= 1, traffic)
  }
}

object RandomOrderSuite {
  private val mark = OnceFault.newMark()
}

/** Spark needs no mapping of its files. Here none can be had, as with some network and FUSE file systems. */
@Slow
final class NoMappingSuite extends OnRdmaCluster("spark.file.transferTo" -> "false") {
  private val dirs = Paths.get(sys.env("SPARK_LOCAL_DIRS"))
  private val beneath = Paths.get(System.getProperty("work.directory"), "beneath-fuse")
  private var mounted = false

  override def beforeAll(): Unit = {
    Seq(dirs, beneath).foreach(Files.createDirectories(_))
    mounted = NoMappingSuite.runs("bindfs", "-o", "direct_io,nonempty", beneath.toString, dirs.toString)
    if (mounted) super.beforeAll()
  }

  override def afterAll(): Unit =
    if (mounted) {
      try super.afterAll()
      finally assert(NoMappingSuite.runs("umount", "--lazy", dirs.toString))
    }

  test("map outputs in files that cannot be mapped are staged") {
    assume(mounted, "bindfs (Debian's package bindfs) could not mount a FUSE file system")
    val traffic = cluster.groupByKey()
    assert(traffic.rdmaBytes == traffic.sparkRemoteBytes, traffic)
    assert(traffic.counter("staged.bytes") == traffic.rdmaBytes, traffic)
    assert(traffic.repeatedStages == 0, traffic)
  }
}

private object NoMappingSuite {
  def runs(command: String*): Boolean = Try(new ProcessBuilder(command: _*).inheritIO().start().waitFor() == 0).getOrElse(false)
}

/** The jobs. Closures live here, away from ScalaTest's classes. */
object OddJobs {
  private val Rows = 40000

  def failedBarrier(context: SparkContext, sorted: Boolean): Map[Int, Long] = {
    val rows = context.parallelize(0 until Rows, 6).map(i => (i, i.toLong))
    val shuffled =
      if (sorted) rows.repartitionAndSortWithinPartitions(new HashPartitioner(2)) else rows.partitionBy(new HashPartitioner(2))
    shuffled
      .barrier()
      .mapPartitions { partition =>
        val barrier = BarrierTaskContext.get()
        val read = partition.zipWithIndex.map { case ((key, value), position) =>
          if (position == 9000 && barrier.partitionId() == 0 && barrier.stageAttemptNumber() == 0) {
            throw new IllegalStateException("of the user")
          }
          (key % 50, value)
        }.toArray
        barrier.allGather(read.length.toString): Unit
        read.iterator
      }
      .reduceByKey(_ + _, 3)
      .collectAsMap()
      .toMap
  }

  def failedBarrierByHand: Map[Int, Long] = (0 until Rows).groupMapReduce(_ % 50)(_.toLong)(_ + _)

  /** How many different rows there are, and their sum. */
  def randomOrder(context: SparkContext): (Long, Long) = {
    val session = SparkSession.builder().sparkContext(context).getOrCreate().newSession()
    import session.implicits._
    val rows = session
      .range(0, Rows, 1, 8)
      .repartition(6, $"id" % 16)
      .withColumn("order", rand())
      .sortWithinPartitions("order")
      .select("id")
      .repartition(10)
      .repartition(7, $"id")
    val row = rows.agg(count_distinct($"id"), sum("id")).head()
    (row.getLong(0), row.getLong(1))
  }

  def randomOrderByHand: (Long, Long) = (Rows.toLong, Rows.toLong * (Rows - 1) / 2)
}
