/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.io.{BufferedInputStream, FileInputStream}
import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.{HashPartitioner, SparkConf, SparkContext}
import org.apache.spark.scheduler.ReplayListenerBus
import org.apache.spark.status.{AppStatusListener, ElementTrackingStore, TaskDataWrapper}
import org.apache.spark.util.SizeEstimator
import org.apache.spark.util.kvstore.{InMemoryStore, KVStore}
import org.scalatest.funsuite.AnyFunSuite

/** What a driver, and a history server, keep of each finished task besides what Spark itself does. */
final class KeptCountsSuite extends AnyFunSuite {
  import KeptCounts._

  /** Of the list of a task's counts with one count in it. */
  private val mostBytesOfTask = 225

  private def tasksOf(store: KVStore): List[TaskDataWrapper] =
    Using.resource(store.view(classOf[TaskDataWrapper]).closeableIterator())(_.asScala.toList)

  private def assertLittleKept(store: KVStore, shown: Set[String]): Unit = {
    val tasks = tasksOf(store)
    assert(tasks.size == Maps + Reduces)
    assert(tasks.flatMap(_.accumulatorUpdates).map(_.name).toSet == shown)
    assert(SizeEstimator.estimate(tasks.map(_.accumulatorUpdates)) <= mostBytesOfTask * tasks.size)
  }

  private def replayed(log: java.io.File): (KVStore, Traffic) = {
    val store = new ElementTrackingStore(new InMemoryStore, new SparkConf)
    val watch = new ShuffleWatch
    val bus = new ReplayListenerBus
    bus.addListener(new AppStatusListener(store, new SparkConf, live = false))
    bus.addListener(watch)
    Using.resource(new BufferedInputStream(new FileInputStream(log)))(bus.replay(_, log.getPath))
    (store, watch.traffic)
  }

  test("the driver keeps one count of a task that reads by RDMA, and the event log has all") {
    val logs = Files.createTempDirectory(Files.createDirectories(Paths.get(System.getProperty("work.directory"))), "events-")
    val traffic = RdmaCluster.using(
      "spark.eventLog.enabled" -> "true",
      "spark.eventLog.rolling.enabled" -> "false",
      "spark.eventLog.compress" -> "false",
      "spark.eventLog.dir" -> logs.toUri.toString) { cluster =>
      val (records, traffic) = cluster.watched(shuffle)
      assert(records == Maps * Reduces)
      assertLittleKept(cluster.context.statusStore.store, Set("shuffle.rdma.bytes"))
      traffic
    }
    assert(traffic.rdmaBytes == traffic.sparkRemoteBytes)
    val (history, logged) = replayed(Using.resource(Files.list(logs))(_.iterator().asScala.toSeq).head.toFile)
    assert(logged == traffic)
    assert(logged.counter("blocks") > 0)
    assertLittleKept(history, Set("shuffle.rdma.bytes"))
  }
}

/** The job. Closures live here, away from ScalaTest's classes. */
private object KeptCounts {
  val Maps = 4
  val Reduces = 300

  def shuffle(context: SparkContext): Long =
    context.parallelize(0 until Maps * Reduces, Maps).map(i => (i % Reduces, i)).partitionBy(new HashPartitioner(Reduces)).count()
}
