/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.apache.spark.SparkContext
import org.scalatest.tags.Slow

/** The same results as stock Spark, every remote byte by RDMA. */
abstract class StockResultsSuite(settings: (String, String)*) extends OnRdmaCluster(settings: _*) {
  private var expected: Map[String, Any] = Map.empty

  protected def jobs: Map[String, SparkContext => Any]

  override def beforeAll(): Unit = {
    expected = RdmaCluster.stock(settings: _*) { context =>
      jobs.map { case (name, job) => name -> job(context) }
    }
    super.beforeAll()
  }

  for ((name, job) <- jobs) {
    test(s"$name gives stock Spark's result with every remote byte read by RDMA") {
      val (result, traffic) = cluster.watched(job)
      assert(result == expected(name))
      assertAllByRdma(traffic)
    }
  }
}

/** Blocks are verified by the plugin's own checksums. */
final class JavaSerializerSuite extends StockResultsSuite("spark.shuffle.rdma.checksum" -> "own") {
  override protected def jobs: Map[String, SparkContext => Any] = Map(
    "groupByKey" -> Jobs.groupByKey,
    "reduceByKey" -> Jobs.reduceByKey,
    "sortByKey" -> Jobs.sortByKey,
    "a job whose tasks end early" -> Jobs.endEarly,
    "a shuffle of 2100 partitions" -> Jobs.manyPartitions,
    "a join with adaptive execution" -> Jobs.joinWithAdaptiveExecution)
}

@Slow
final class KryoRegistrationRequiredSuite
    extends StockResultsSuite(
      "spark.serializer" -> "org.apache.spark.serializer.KryoSerializer",
      "spark.kryo.registrationRequired" -> "true",
      "spark.kryo.classesToRegister" -> "scala.Tuple2$mcIJ$sp,[Lscala.Tuple2;") {
  override protected def jobs: Map[String, SparkContext => Any] = Map(
    "reduceByKey" -> Jobs.reduceByKey,
    "sortByKey" -> Jobs.sortByKey,
    "a shuffle of 2100 partitions" -> Jobs.manyPartitions)
}

/** Spark's block iterator asks for all blocks, and Spark's sorter sorts. */
final class SparkIteratorSuite
    extends StockResultsSuite(
      "spark.shuffle.rdma.reader" -> "spark",
      "spark.shuffle.rdma.sorter" -> "spark") {
  override protected def jobs: Map[String, SparkContext => Any] = Map(
    "groupByKey" -> Jobs.groupByKey,
    "sortByKey" -> Jobs.sortByKey,
    "a job whose tasks end early" -> Jobs.endEarly,
    "a shuffle of 2100 partitions" -> Jobs.manyPartitions)

  test("Spark's sorter sorts") {
    assert(Jobs.sorters(cluster.context).forall(_.startsWith("org.apache.spark.util.")))
  }
}

/** Blocks are verified by nobody. */
final class BlocksInFilesSuite
    extends StockResultsSuite(
      "spark.network.maxRemoteBlockSizeFetchToMem" -> "1k",
      "spark.shuffle.rdma.checksum" -> "off") {
  override protected def jobs: Map[String, SparkContext => Any] = Map(
    "groupByKey over temporary files" -> Jobs.groupByKey,
    "a job whose tasks leave files unread" -> Jobs.endEarly)
}
