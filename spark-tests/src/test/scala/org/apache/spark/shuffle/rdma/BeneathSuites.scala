/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.file.Path

import org.apache.spark.{ShuffleDependency, SparkConf, SparkContext, SparkException, TaskContext}
import org.apache.spark.network.buffer.ManagedBuffer
import org.apache.spark.network.shuffle.MergedBlockMeta
import org.apache.spark.shuffle._
import org.apache.spark.shuffle.sort.SortShuffleManager
import org.apache.spark.storage.{BlockId, ShuffleMergedBlockId}
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

object Beneath {
  private[rdma] val Plugin = "spark.plugins" -> "org.apache.spark.shuffle.rdma.RdmaPlugin"
  private[rdma] val SparksManager = "spark.shuffle.manager" -> "sort"
}

/** The plugin under Spark's own shuffle manager, which writes, publishes and reads as it does by itself. */
final class BeneathSuite
    extends StockResultsSuite(
      Beneath.SparksManager,
      Beneath.Plugin,
      "spark.shuffle.rdma.withdrawGrace" -> "1s")
    with Eventually {
  override protected def jobs: Map[String, SparkContext => Any] = Map(
    "groupByKey" -> Jobs.groupByKey,
    "reduceByKey" -> Jobs.reduceByKey,
    "sortByKey" -> Jobs.sortByKey,
    "a job whose tasks end early" -> Jobs.endEarly,
    "a shuffle of 2100 partitions" -> Jobs.manyPartitions,
    "a join with adaptive execution" -> Jobs.joinWithAdaptiveExecution)

  private def registeredBytes: Long =
    Jobs.gauges(cluster.context).map(_("shuffle.rdma.outputs.registeredBytes")).sum

  test("map outputs are registered when they are asked for, and not staged again") {
    val shuffle = Jobs.grouped(cluster.context)
    val (first, staged) = cluster.watched(_ => Jobs.hashed(shuffle))
    assertAllByRdma(staged)
    assert(staged.counter("staged.bytes") > 0, staged)
    eventually(timeout(Span(30, Seconds))) {
      val (again, read) = cluster.watched(_ => Jobs.hashed(shuffle))
      assert(again == first)
      assertAllByRdma(read)
      assert(read.counter("staged.bytes") == 0, read)
    }
    val before = registeredBytes
    shuffle.cleanShuffleDependencies()
    eventually(timeout(Span(30, Seconds))) {
      assert(registeredBytes < before)
    }
  }
}

/** Under a manager of somebody else's, whose blocks are written to files when they are fetched, and encrypted. */
final class BeneathOtherManagerSuite
    extends StockResultsSuite(
      "spark.shuffle.manager" -> classOf[DelegatingShuffleManager].getName,
      "spark.network.maxRemoteBlockSizeFetchToMem" -> "1k",
      "spark.io.encryption.enabled" -> "true",
      Beneath.Plugin) {
  override protected def jobs: Map[String, SparkContext => Any] =
    Map("groupByKey" -> Jobs.groupByKey, "a job whose tasks leave files unread" -> Jobs.endEarly)
}

/** An executor is killed while it serves a READ. */
final class BeneathKilledPeerSuite extends BeneathFaultSuite("killpeer=1", OnceFault.newMark()) {
  test("costs a stage attempt and no result") {
    assert(traffic.repeatedStages >= 1, traffic)
  }
}

@Slow
final class BeneathRefusedReadSuite extends BeneathFaultSuite("status=10", OnceFault.newMark()) {
  test("blocks of a refused READ come by RDMA at the second attempt, or by TCP") {
    assertNoByteLost(traffic)
  }
}

/** Strikes past the probe blocks. */
abstract class BeneathFaultSuite(effect: String, mark: Path)
    extends FaultSuite(effect, mark, read = 3, Seq(Beneath.SparksManager, Beneath.Plugin))

/** Where the plugin has nothing to do. */
final class BeneathNothingSuite extends AnyFunSuite {
  test("the plugin beside its own shuffle manager does nothing twice") {
    RdmaCluster.using(Beneath.Plugin) { cluster =>
      val traffic = cluster.groupByKey()
      assert(traffic.rdmaBytes == traffic.sparkRemoteBytes, traffic)
      assert(traffic.counter("staged.bytes") == 0, traffic)
    }
  }

  test("tasks fail where RDMA is required and map outputs are not in Spark's files") {
    RdmaCluster.using(
      "spark.shuffle.manager" -> classOf[HiddenFilesShuffleManager].getName,
      "spark.shuffle.rdma.required" -> "true",
      "spark.task.maxFailures" -> "1",
      Beneath.Plugin) { cluster =>
      val failure = intercept[SparkException](Jobs.groupByKey(cluster.context))
      assert(failure.getMessage.contains("spark.shuffle.rdma.required=true"))
      assert(failure.getMessage.contains("does not keep map outputs in Spark's files"))
    }
  }

  test("map outputs that are not in Spark's files come by TCP") {
    RdmaCluster.using(
      "spark.shuffle.manager" -> classOf[HiddenFilesShuffleManager].getName,
      Beneath.Plugin) { cluster =>
      val traffic = cluster.groupByKey()
      assert(traffic.sparkRemoteBytes > 0, traffic)
      assert(traffic.rdmaBytes == 0, traffic)
    }
  }
}

/** A manager that is not Spark's, as an accelerator has one, but has its files. */
private[spark] class DelegatingShuffleManager(conf: SparkConf) extends ShuffleManager {
  private val spark = new SortShuffleManager(conf)

  override def registerShuffle[K, V, C](
      shuffleId: Int,
      dependency: ShuffleDependency[K, V, C]): ShuffleHandle =
    spark.registerShuffle(shuffleId, dependency)

  override def getWriter[K, V](
      handle: ShuffleHandle,
      mapId: Long,
      context: TaskContext,
      metrics: ShuffleWriteMetricsReporter): ShuffleWriter[K, V] =
    spark.getWriter(handle, mapId, context, metrics)

  override def getReader[K, C](
      handle: ShuffleHandle,
      startMapIndex: Int,
      endMapIndex: Int,
      startPartition: Int,
      endPartition: Int,
      context: TaskContext,
      metrics: ShuffleReadMetricsReporter): ShuffleReader[K, C] =
    spark.getReader(
      handle,
      startMapIndex,
      endMapIndex,
      startPartition,
      endPartition,
      context,
      metrics)

  override def unregisterShuffle(shuffleId: Int): Boolean = spark.unregisterShuffle(shuffleId)

  override def shuffleBlockResolver: ShuffleBlockResolver = spark.shuffleBlockResolver

  override def stop(): Unit = spark.stop()
}

/** A manager that does not tell that its map outputs are in Spark's files. */
private[spark] final class HiddenFilesShuffleManager(conf: SparkConf) extends DelegatingShuffleManager(conf) {
  private val files = super.shuffleBlockResolver

  override def shuffleBlockResolver: ShuffleBlockResolver = new ShuffleBlockResolver {
    override def getBlockData(blockId: BlockId, dirs: Option[Array[String]]): ManagedBuffer =
      files.getBlockData(blockId, dirs)

    override def getMergedBlockData(
        blockId: ShuffleMergedBlockId,
        dirs: Option[Array[String]]): Seq[ManagedBuffer] =
      files.getMergedBlockData(blockId, dirs)

    override def getMergedBlockMeta(
        blockId: ShuffleMergedBlockId,
        dirs: Option[Array[String]]): MergedBlockMeta =
      files.getMergedBlockMeta(blockId, dirs)

    override def stop(): Unit = files.stop()
  }
}
