/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Seconds, Span}

/**
 * Shuffles that Spark does not free, as the driver still refers to them: together five times what an
 * executor may register.
 */
final class BudgetSuite
    extends OnRdmaCluster(
      "spark.shuffle.rdma.maxRegisteredBytes" -> s"${BudgetSuite.BudgetBytes}b",
      "spark.shuffle.rdma.withdrawGrace" -> "200ms")
    with Eventually {
  import BudgetSuite._

  test("of five times the budget the last shuffles come by RDMA, and the first still come") {
    val shuffles = (0 until Shuffles).map(Jobs.randomBytes(cluster.context, _))
    val traffic = shuffles.map { shuffle =>
      val (read, seen) = cluster.watched(_ => Jobs.records(shuffle))
      assert(read == Records)
      val mapped = Holdings.ofExecutors(cluster.context).map(_.mappedShuffleBytes)
      assert(mapped.forall(_ <= BudgetBytes / 2), mapped) // the other half is for fetch buffers
      awaitRoom()
      seen
    }
    assert(traffic.map(_.sparkRemoteBytes).sum >= Shuffles * BytesOfAShuffle / 2 * 9 / 10)
    traffic.takeRight(5).foreach { last =>
      assert(last.rdmaBytes > 0, last)
      assert(last.tcpBytes == 0, last)
    }
    val (read, late) = cluster.watched(_ => Jobs.records(shuffles.head))
    assert(read == Records)
    assert(late.rdmaBytes == 0, late)
    assert(late.counter("fallback.withdrawn") == late.counter("tcp.blocks"), late)
    assert(late.counter("misses") == late.counter("tcp.blocks"), late)
    assert(late.repeatedStages == 0, late)
  }

  /** What has been withdrawn leaves after the grace; then each executor has room for one output more. */
  private def awaitRoom(): Unit =
    eventually(timeout(Span(20, Seconds))) {
      val mapped = Holdings.ofExecutors(cluster.context).map(_.mappedShuffleBytes)
      assert(mapped.forall(_ + BytesOfAShuffle / 2 <= BudgetBytes / 2), mapped)
    }
}

object BudgetSuite {
  private val BudgetBytes = 16L << 20
  private val Records = 2 * 2048L
  private val BytesOfAShuffle = Records * 1024

  /** Half of each lies on each of the two executors. */
  private val Shuffles = 40
}
