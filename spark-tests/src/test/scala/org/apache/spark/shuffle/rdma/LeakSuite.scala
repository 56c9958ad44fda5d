/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.lang.management.{BufferPoolMXBean, ManagementFactory}
import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.scalatest.concurrent.Eventually
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

import org.apache.spark.{SparkContext, SparkEnv}

import org.shufflerdma.verbs.{Provider, Verbs}

/** What one executor process holds. */
final case class Holdings(
    executor: String,
    memoryRegions: Long,
    queuePairs: Long,
    completionQueues: Long,
    protectionDomains: Long,
    descriptors: Map[String, Int],
    mappedShuffleBytes: Long,
    directBytes: Long) {

  /** No map output, no fetch buffers: what stays are the canary and the slab of descriptors. */
  def isAtRest: Boolean =
    memoryRegions <= 2 && mappedShuffleBytes == 0 && !descriptors.keys.exists(Holdings.isShuffle)
}

object Holdings {
  private def isShuffle(path: String): Boolean = path.contains("/shuffle_")

  def ofExecutors(context: SparkContext): Seq[Holdings] =
    Jobs.onBothExecutors(context)(Iterator(here())).sortBy(_.executor)

  private def here(): Holdings = {
    System.gc()
    val device = Verbs.open(Provider.SOFT).softCounters()
    Holdings(
      SparkEnv.get.executorId,
      device.mrLive(),
      device.qpLive(),
      device.cqLive(),
      device.pdLive(),
      descriptorsByKind,
      mappedShuffleBytes,
      direct.getMemoryUsed)
  }

  private def mappedShuffleBytes: Long =
    Files
      .readAllLines(Paths.get("/proc/self/maps"))
      .asScala
      .filter(isShuffle)
      .map(_.takeWhile(_ != ' ').split('-').map(java.lang.Long.parseUnsignedLong(_, 16)))
      .map(range => range.last - range.head)
      .sum

  private def direct: BufferPoolMXBean =
    ManagementFactory
      .getPlatformMXBeans(classOf[BufferPoolMXBean])
      .asScala
      .find(_.getName == "direct")
      .get

  /**
   * What open descriptors lead to, without the numbers that differ from one to the next. Jars and TCP
   * connections are left out: Spark opens them when it first needs them.
   */
  private def descriptorsByKind: Map[String, Int] = {
    val tcp = tcpSockets
    val links = Files.list(Paths.get("/proc/self/fd"))
    try
      links
        .iterator()
        .asScala
        .flatMap(link => Try(Files.readSymbolicLink(link).toString).toOption)
        .filterNot(tcp)
        .filterNot(_.endsWith(".jar"))
        .toSeq
        .groupMapReduce(_.replaceAll("[0-9]+", "#"))(_ => 1)(_ + _)
    finally links.close()
  }

  private def tcpSockets: Set[String] =
    Seq("tcp", "tcp6")
      .flatMap(table => Files.readAllLines(Paths.get(s"/proc/self/net/$table")).asScala.drop(1))
      .map(line => s"socket:[${line.trim.split(" +")(9)}]")
      .toSet
}

/**
 * The executors keep no temporary direct buffers per thread here: Spark's task threads come and go.
 */
@Slow
final class LeakSuite
    extends OnRdmaCluster(
      "spark.shuffle.rdma.withdrawGrace" -> "100ms",
      "spark.shuffle.rdma.poolIdleTimeout" -> "5s",
      "spark.executor.extraJavaOptions" -> "-Djdk.nio.maxCachedBufferSize=0")
    with Eventually {
  private val patience = timeout(Span(60, Seconds))

  test("an executor holds after 100 shuffles what it held after 10") {
    (1 to 10).foreach(_ => shuffleAndForget())
    val early = settled()
    (11 to 100).foreach(_ => shuffleAndForget())
    eventually(patience)(assert(atRest() == early))
  }

  /** Without what is there for a moment only, such as the pipes of a process that starts. */
  private def settled(): Seq[Holdings] =
    eventually(patience) {
      val holdings = atRest()
      Thread.sleep(LeakSuite.MomentMs)
      assert(atRest() == holdings)
      holdings
    }

  private def atRest(): Seq[Holdings] =
    eventually(patience) {
      val holdings = Holdings.ofExecutors(cluster.context)
      assert(holdings.forall(_.isAtRest), holdings)
      holdings
    }

  private def shuffleAndForget(): Unit = {
    val summed = Jobs.smallShuffle(cluster.context)
    assert(summed.count() == 50)
    summed.cleanShuffleDependencies(blocking = true)
  }
}

object LeakSuite {
  private val MomentMs = 1000
}
