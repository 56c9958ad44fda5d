/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.scalatest.tags.Slow

import org.apache.spark.{HashPartitioner, SparkContext}

/** Many executors, whose processes share the few cores of the host, so that answers take long. */
sealed abstract class OnWideCluster(settings: (String, String)*)
    extends OnRdmaCluster(
      WideCluster.Settings ++ settings: _*) {

    private var expected: Option[(Long, Long)] = None

  /** A process has one context at a time. */
  override def beforeAll(): Unit = {
    expected = Some(RdmaCluster.stock()(WideCluster.digest(_, 2)))
    super.beforeAll()
  }

  protected def assertAsOnStock(maps: Int): Traffic = {
    val (digest, traffic) = cluster.watched(WideCluster.digest(_, maps))
    assert(expected.contains(digest))
    assertAllByRdma(traffic)
    traffic
  }
}

@Slow
final class WideClusterSuite extends OnWideCluster() {
  test("hundreds of reduce tasks on 32 executors read two map outputs by RDMA") {
    assertAsOnStock(2): Unit
  }

  test("400 reduce tasks on 32 executors read from 400 map tasks by RDMA") {
    val traffic = assertAsOnStock(WideCluster.Reduces)
    assert(traffic.counter("staged.bytes") == 0, traffic)
  }
}

@Slow
final class WideStagedClusterSuite
    extends OnWideCluster("spark.shuffle.rdma.maxRegisteredBytes" -> "16m") {

  test("hundreds of reduce tasks on 32 executors read two large map outputs that owners stage") {
    val traffic = assertAsOnStock(2)
    assert(traffic.counter("staged.bytes") > 0, traffic)
  }

  test("400 reduce tasks on 32 executors with little to register read from 400 map tasks by RDMA") {
    assertAsOnStock(WideCluster.Reduces): Unit
  }
}

/** The job. Closures live here, away from ScalaTest's classes. */
object WideCluster {
  val Reduces = 400
  private val Executors = 32
  private val Records = 160000

  /** Of bytes that do not compress. */
  private val BytesOfRecord = 200

  val Settings: Seq[(String, String)] = Seq(
    "spark.master" -> s"local-cluster[$Executors,1,512]",
    "spark.cores.max" -> Executors.toString,
    "spark.executor.memory" -> "512m",
    "spark.scheduler.maxRegisteredResourcesWaitingTime" -> "300s",
    "spark.task.maxFailures" -> "1",
    "spark.shuffle.reduceLocality.enabled" -> "false",
    "spark.shuffle.rdma.connectTimeout" -> "60s",
    "spark.shuffle.rdma.fetchTimeout" -> "120s")

  /** A shuffle of 32 MB, and what the reduce tasks have received, in any order. */
  def digest(context: SparkContext, maps: Int): (Long, Long) = {
    val records = Records
    val bytes = BytesOfRecord
    context
      .parallelize(0 until records, maps)
      .map(i => (i, new scala.util.Random(i).nextBytes(bytes)))
      .partitionBy(new HashPartitioner(Reduces))
      .mapPartitionsWithIndex { (partition, of) =>
        of.map { case (key, value) =>
          (1L, java.util.Arrays.hashCode(value).toLong * (key + 1) * (partition + 1))
        }
      }
      .fold((0L, 0L)) { case ((count, sum), (one, hash)) => (count + one, sum + hash) }
  }
}
