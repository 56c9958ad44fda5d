/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.apache.spark.{SparkContext, SparkException}

/**
 * Each record comes where stock Spark's sorter brings it: in random shuffles, and in what Spark's
 * ExternalSorterSuite tries without an aggregator.
 */
final class SortedShuffleSuite extends OnRdmaCluster(SortedShuffleSuite.Settings: _*) {
  private val seed = Some(System.getProperty("test.seed").toLong).filter(_ != 0).getOrElse(System.nanoTime())

  private val jobs: Seq[(String, SparkContext => Seq[String])] =
    (1 to 12).map(i => (s"random shuffle $i", SortJobs.random(seed + i) _)) ++ Seq(
      ("a shuffle of nothing", SortJobs.nothing _),
      ("a shuffle of three records", SortJobs.fewRecords _),
      ("a shuffle with empty partitions", SortJobs.emptyPartitions _),
      ("a shuffle with the largest keys", SortJobs.largestKeys _),
      ("a shuffle with nulls", SortJobs.nullKeysAndValues _))

  private var expected: Map[String, Seq[String]] = Map.empty

  override def beforeAll(): Unit = {
    expected = RdmaCluster.stock(SortedShuffleSuite.Settings: _*) { context =>
      jobs.map { case (name, job) => name -> job(context) }.toMap
    }
    super.beforeAll()
  }

  for ((name, job) <- jobs) {
    test(s"$name has the order of stock Spark") {
      val (result, traffic) = cluster.watched(job)
      assert(result == expected(name), s"-Dtest.seed=$seed")
      assert(traffic.tcpBytes == 0)
    }
  }

  test("the plugin's sorter sorts") {
    assert(Jobs.sorters(cluster.context).forall(_.startsWith("org.shufflerdma.sorter.")))
  }

  /** Stock Spark 4 has a key many times here, and Spark 3.5 has it once. */
  test("each key comes once if keys that differ are equal in the order") {
    val times = SortJobs.combined(cluster.context)
    assert(times.size == 256)
    assert(times.values.forall(_ == 1), times)
  }

  test("tasks that stop early or fail leave no file of spilled records") {
    assert(SortJobs.cutShort(cluster.context, fails = false).forall(_ > 0))
    assert(SortJobs.temporaryFiles(cluster.context).isEmpty)
    val failure = intercept[SparkException](SortJobs.cutShort(cluster.context, fails = true))
    assert(failure.getMessage.contains("of the task"))
    assert(SortJobs.temporaryFiles(cluster.context).isEmpty)
  }
}

object SortedShuffleSuite {
  private val Settings = Seq(
    "spark.shuffle.spill.numElementsForceSpillThreshold" -> "3000",
    "spark.shuffle.spill.batchSize" -> "700",
    "spark.task.maxFailures" -> "1")
}
