/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

/**
 * Shuffles that Spark does not free, as the driver still refers to them: together many times what an
 * executor may register.
 */
final class BudgetSuite
    extends OnRdmaCluster(
      "spark.shuffle.rdma.maxRegisteredBytes" -> s"${BudgetSuite.BudgetBytes}b") {
  import BudgetSuite._

  test("of many times the budget all comes by RDMA, what is registered stays, and the rest is staged") {
    val shuffles = (0 until Shuffles).map(Jobs.randomBytes(cluster.context, _))
    val traffic = shuffles.map { shuffle =>
      val (read, seen) = cluster.watched(_ => Jobs.records(shuffle))
      assert(read == Records)
      assert(seen.tcpBytes == 0, seen)
      val mapped = Holdings.ofExecutors(cluster.context).map(_.mappedShuffleBytes)
      assert(mapped.forall(_ <= BudgetBytes / 2), mapped) // the rest is for staging and fetch buffers
      seen
    }
    assert(traffic.map(_.rdmaBytes).sum >= Shuffles * BytesOfAShuffle / 2 * 9 / 10)
    assert(traffic.head.counter("staged.bytes") == 0, traffic.head)
    assert(traffic.last.counter("staged.bytes") == traffic.last.rdmaBytes, traffic.last)

    val (read, first) = cluster.watched(_ => Jobs.records(shuffles.head))
    assert(read == Records)
    assert(first.counter("staged.bytes") == 0, first)
    assert(first.tcpBytes == 0, first)
    assert(first.repeatedStages == 0, first)
  }
}

/** The same shuffles, of which the device pins nothing. */
final class OnDemandSuite
    extends OnRdmaCluster(
      "spark.shuffle.rdma.onDemand" -> "true",
      "spark.shuffle.rdma.maxRegisteredBytes" -> s"${BudgetSuite.BudgetBytes}b") {
  import BudgetSuite._

  test("outputs that are paged on demand need no room in the budget") {
    val shuffles = (0 until Shuffles).map(Jobs.randomBytes(cluster.context, _))
    shuffles.foreach { shuffle =>
      val (read, seen) = cluster.watched(_ => Jobs.records(shuffle))
      assert(read == Records)
      assert(seen.tcpBytes == 0, seen)
      assert(seen.rdmaBytes > 0, seen)
      assert(seen.counter("staged.bytes") == 0, seen)
    }
    val mapped = Holdings.ofExecutors(cluster.context).map(_.mappedShuffleBytes)
    assert(mapped.forall(_ > BudgetBytes), mapped)
  }
}

object BudgetSuite {
  private[rdma] val BudgetBytes = 16L << 20
  private[rdma] val Records = 2 * 2048L
  private[rdma] val BytesOfAShuffle = Records * 1024

  /** Half of each lies on each of the two executors. */
  private[rdma] val Shuffles = 20
}
