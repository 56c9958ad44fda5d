/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.scalatest.concurrent.Eventually
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

import org.apache.spark.{MapOutputTrackerMaster, SparkEnv}
import org.apache.spark.scheduler.ExecutorDecommissionInfo
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend

/** Map outputs that outlive the executor which wrote them, in somebody else's hands. */
abstract class LostExecutorSuite(settings: (String, String)*)
    extends OnRdmaCluster(settings: _*)
    with Eventually {
  override implicit val patienceConfig: PatienceConfig =
    PatienceConfig(Span(90, Seconds), Span(0.1, Seconds))

  protected def executors: Seq[String] =
    cluster.context.getExecutorIds().sorted

  protected def tracker: MapOutputTrackerMaster =
    SparkEnv.get.mapOutputTracker.asInstanceOf[MapOutputTrackerMaster]

  /** The executors that map outputs are said to be at. */
  protected def holders: Set[String] = {
    tracker.shuffleStatuses.values
      .flatMap(_.withMapStatuses(_.map(_.location.executorId).toSeq))
      .toSet
  }

  /** A shuffle one of whose executors is gone, with what a read of it must give. */
  protected def shuffleOfALostExecutor(): (KeptShuffle, Seq[(Int, Int)]) = {
    val kept = new KeptShuffle(cluster.context)
    val before = kept.read()
    val lost = executors.head
    assert(holders.contains(lost))
    assert(cluster.context.killExecutor(lost))
    eventually(assert(!executors.contains(lost)))
    (kept, before)
  }
}

final class ExternalServiceSuite extends LostExecutorSuite(ShuffleService.settings: _*) {
  test("beside a shuffle service, blocks of living executors come by RDMA") {
    assertAllByRdma(cluster.groupByKey())
  }

  test("blocks of an executor that is gone come from the service, and no map runs again") {
    val (kept, before) = shuffleOfALostExecutor()
    val (after, traffic) = cluster.watched(_ => kept.read())
    assert(after == before)
    assert(traffic.tcpBytes > 0, traffic)
    assert(traffic.rdmaBytes + traffic.tcpBytes == traffic.sparkRemoteBytes, traffic)
    assert(traffic.fallbacks == traffic.counter("tcp.blocks"), traffic)
    assert(traffic.repeatedStages == 0, traffic)
  }
}

object NodeServiceSuite {
  lazy val service = new NodeServiceProcess

  def settings: Seq[(String, String)] = ShuffleService.settings ++ service.settings
}

final class NodeServiceSuite extends LostExecutorSuite(NodeServiceSuite.settings: _*) {
  private def service: NodeServiceProcess = NodeServiceSuite.service

  override def beforeAll(): Unit = {
    service.start()
    super.beforeAll()
  }

  override def afterAll(): Unit =
    try super.afterAll()
    finally service.stop()

  private lazy val (kept, before) = shuffleOfALostExecutor()

  private def assertFromTheService(): Unit = {
    val (after, traffic) = cluster.watched(_ => kept.read())
    assert(after == before)
    assert(traffic.counter("nodeService.bytes") > 0, traffic)
    assertAllByRdma(traffic)
  }

  test("blocks of an executor that is gone come by RDMA from the node service") {
    assertFromTheService()
  }

  test("a node service that is killed in the middle of a job costs no stage attempt, and is used again") {
    val (after, traffic) = cluster.watched(_ => kept.readAndKill(service.pid))
    assert(after == before)
    assertNoByteLost(traffic)
    assert(traffic.tcpBytes > 0, traffic)
    service.start()
    eventually(assertFromTheService())
  }
}

@Slow
final class MigrationSuite
    extends LostExecutorSuite(
      "spark.master" -> "local-cluster[3,1,1024]",
      "spark.cores.max" -> "3",
      "spark.decommission.enabled" -> "true",
      "spark.storage.decommission.enabled" -> "true",
      "spark.storage.decommission.shuffleBlocks.enabled" -> "true") {
  test("blocks that a decommissioned executor has handed on come by TCP, counted as migrated") {
    val kept = new KeptShuffle(cluster.context)
    val before = kept.read()
    val lost = executors.head
    assert(holders.contains(lost))
    val epoch = tracker.getEpoch
    val backend = cluster.context.schedulerBackend.asInstanceOf[CoarseGrainedSchedulerBackend]
    assert(
      backend.decommissionExecutor(
        lost,
        ExecutorDecommissionInfo("for a test"),
        adjustTargetNumExecutors = true))
    eventually(assert(!holders.contains(lost)))
    // Until the scheduler knows of the loss, executors keep the locations that they have cached.
    eventually(assert(tracker.getEpoch > epoch))
    val (after, traffic) = cluster.watched(_ => kept.read())
    assert(after == before)
    assert(traffic.rdmaBytes > 0, traffic)
    assert(traffic.tcpBytes > 0, traffic)
    assert(traffic.counter("fallback.migrated") == traffic.counter("tcp.blocks"), traffic)
    assertNoByteLost(traffic)
  }
}

@Slow
final class DynamicAllocationSuite
    extends LostExecutorSuite(
      "spark.dynamicAllocation.enabled" -> "true",
      "spark.dynamicAllocation.shuffleTracking.enabled" -> "true",
      "spark.dynamicAllocation.initialExecutors" -> "2",
      "spark.dynamicAllocation.minExecutors" -> "1",
      "spark.dynamicAllocation.executorIdleTimeout" -> "10s") {
  test("executors stay as long as their shuffle may be read, and go when it is forgotten") {
    val kept = new KeptShuffle(cluster.context)
    val (before, first) = cluster.watched(_ => kept.read())
    assertAllByRdma(first)
    assert(holders.size == 2)
    Thread.sleep(12000) // past the idle time: nobody may go
    val (after, second) = cluster.watched(_ => kept.read())
    assert(after == before)
    assertAllByRdma(second)
    kept.forget()
    eventually(assert(executors.size == 1))
  }

  test("blocks come by RDMA when executors have come back") {
    eventually {
      Jobs.takeTime(cluster.context)
      assert(executors.size == 2)
    }
    assertAllByRdma(cluster.groupByKey())
  }
}

/** Merged chunks come from the service by TCP; what was not merged lies on the executors' own host. */
final class PushMergeSuite
    extends OnRdmaCluster(
      ShuffleService.settings ++ Seq(
        "spark.master" -> TestClusterManager.Merging,
        "spark.testing" -> "true", // or Spark pushes on YARN alone
        "spark.serializer" -> "org.apache.spark.serializer.KryoSerializer",
        "spark.shuffle.push.enabled" -> "true",
        "spark.shuffle.push.minShuffleSizeToWait" -> "0",
        "spark.shuffle.push.finalize.timeout" -> "30s"): _*) {
  test("blocks that were pushed and merged go their own way") {
    val traffic = cluster.groupByKey()
    assert(traffic.counter("fallback.other-block") > 0, traffic)
    assert(traffic.counter("fallback.other-block") == traffic.fallbacks, traffic)
    assert(traffic.tcpBytes > 0, traffic)
    assertNoByteLost(traffic)
  }
}
