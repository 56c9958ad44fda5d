/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec

/** Notes the names of the plugin's counts that each task reports, as often as it does. */
final class ReportedNames extends SparkListener {
  private val byTask = mutable.Buffer.empty[Seq[String]]

  override def onTaskEnd(end: SparkListenerTaskEnd): Unit = synchronized {
    val names = end.taskInfo.accumulables.toSeq.flatMap(_.name)
    byTask += names.flatMap(ShuffleWatch.counter)
  }

  def ofTasks: Seq[Seq[String]] = synchronized(byTask.toSeq)
}

/** Reads of ranges of partitions and of maps, as adaptive execution plans them, or one by one. */
final class AdaptiveReadSuite extends OnRdmaCluster() {
  private val queries = Seq[(String, SparkContext => Answer, AQEShuffleReadExec => Boolean)](
    ("coalesced partitions", SqlJobs.coalesced, _.hasCoalescedPartition),
    ("split partitions", SqlJobs.skewed, _.hasSkewedPartition),
    ("local reads", SqlJobs.localReaders, _.isLocalRead))
  private var expected: Map[String, Seq[String]] = Map.empty
  private var expectedChecksums: Seq[Long] = Nil

  override def beforeAll(): Unit = {
    expected = RdmaCluster.stock() { context =>
      expectedChecksums = SqlJobs.rowChecksums(context)
      queries.map { case (name, query, _) => name -> query(context).rows }.toMap
    }
    super.beforeAll()
  }

  for ((name, query, asPlanned) <- queries) {
    test(s"$name give stock Spark's result with every remote byte read by RDMA") {
      val (answer, traffic) = cluster.watched(query)
      assert(answer.rows == expected(name))
      assert(answer.reads.exists(asPlanned), answer.reads)
      assertAllByRdma(traffic)
    }
  }

  test("adjacent partitions of a map output are one block, and as many bytes as one by one") {
    val (_, batched) = cluster.watched(SqlJobs.coalesced)
    val (_, single) = cluster.watched(SqlJobs.coalescedOneByOne)
    assertAllByRdma(batched)
    assertAllByRdma(single)
    assert(batched.counter("blocks") * 5 < single.counter("blocks"), (batched, single))
  }

  test("a task that reads partitions one by one reports each of its counts once") {
    val reported = new ReportedNames
    cluster.context.addSparkListener(reported)
    val (rows, traffic) =
      try cluster.watched(Jobs.coalesced)
      finally cluster.context.removeSparkListener(reported)
    assert(rows == Jobs.rows.size)
    assertAllByRdma(traffic)
    assert(reported.ofTasks.exists(_.nonEmpty))
    for (names <- reported.ofTasks) assert(names.distinct == names)
  }

  test("the maps' checksums of their rows reach the driver as they do without RDMA") {
    val (checksums, traffic) = cluster.watched(SqlJobs.rowChecksums)
    assert(checksums.forall(_ != 0))
    assert(checksums == expectedChecksums)
    assertAllByRdma(traffic)
  }
}
