/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.io.File
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.{Assertions, BeforeAndAfterAll}
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.{SparkConf, SparkContext}

/**
 * A local-cluster of two executor processes that use the RDMA shuffle over the software device. The
 * executors get the plugin as `--jars` would give it to them, and nothing else.
 */
final class RdmaCluster private (val context: SparkContext, watch: ShuffleWatch) extends Assertions {

  /** What was shuffled so far, after all task ends have been heard of. */
  def traffic: Traffic = {
    context.listenerBus.waitUntilEmpty(RdmaCluster.ListenerTimeoutMs)
    watch.traffic
  }

  /** Runs a job and says what it shuffled. */
  def watched[T](job: SparkContext => T): (T, Traffic) = {
    val before = traffic
    val result = job(context)
    (result, traffic - before)
  }

  /** Groups by key, which must give the right groups, and says what that shuffled. */
  def groupByKey(): Traffic = {
    val (result, traffic) = watched(Jobs.groupByKey)
    assert(result == RdmaJobsByHand.groupByKey)
    traffic
  }

  def stop(): Unit = context.stop()
}

/** A suite on one cluster, which all its tests share. */
abstract class OnRdmaCluster(settings: (String, String)*) extends AnyFunSuite with BeforeAndAfterAll {
  private var started: Option[RdmaCluster] = None

  protected def cluster: RdmaCluster = started.get

  override def beforeAll(): Unit = started = Some(RdmaCluster.start(settings: _*))

  override def afterAll(): Unit = started.foreach(_.stop())

  /** There were remote bytes, and RDMA brought each of them, at the first attempt. */
  protected def assertAllByRdma(traffic: Traffic): Unit = {
    assert(traffic.tcpBytes == 0, traffic)
    assert(traffic.rdmaBytes > 0, traffic)
    assert(traffic.rdmaBytes == traffic.sparkRemoteBytes, traffic)
    assert(traffic.repeatedStages == 0, traffic)
  }

  /** RDMA or TCP brought each remote byte, and no stage ran again. */
  protected def assertNoByteLost(traffic: Traffic): Unit = {
    assert(traffic.rdmaBytes + traffic.tcpBytes == traffic.sparkRemoteBytes, traffic)
    assert(traffic.repeatedStages == 0, traffic)
  }
}

object RdmaCluster {
  private val ListenerTimeoutMs = 10000L

  /** Executors that live for seconds would spend most of their time in the optimizing compiler. */
  private val ShortLived = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

  def start(settings: (String, String)*): RdmaCluster = {
    SparkHome.prepare()
    val conf = new SparkConf()
      .setMaster("local-cluster[2,1,1024]")
      .setAppName("spark-tests")
      .set("spark.jars", Seq("plugin.jar", "tests.jar").map(System.getProperty).mkString(","))
      .set("spark.shuffle.manager", "RdmaShuffleManager")
      .set("spark.shuffle.rdma.device", "soft")
      .set("spark.shuffle.readHostLocalDisk", "false")
      .set("spark.ui.enabled", "false")
      .set("spark.cores.max", "2")
      .set("spark.executor.defaultJavaOptions", s"$ShortLived ${ClassArchive.option()}")
      .set("spark.scheduler.minRegisteredResourcesRatio", "1.0")
      .set("spark.scheduler.maxRegisteredResourcesWaitingTime", "60s")
      .setAll(settings)
    val watch = new ShuffleWatch
    val context = new SparkContext(conf)
    context.addSparkListener(watch)
    new RdmaCluster(context, watch)
  }

  /** Hands a cluster to the body, and stops it whatever comes of that. */
  def using[T](settings: (String, String)*)(body: RdmaCluster => T): T = {
    val cluster = start(settings: _*)
    try body(cluster)
    finally cluster.stop()
  }

  /** The same job on stock Spark, in this process. */
  def stock[T](settings: (String, String)*)(job: SparkContext => T): T = {
    val context = new SparkContext(
      new SparkConf()
        .setMaster("local[2]")
        .setAppName("stock")
        .set("spark.ui.enabled", "false")
        .setAll(settings))
    try job(context)
    finally context.stop()
  }
}

/**
 * An archive of the classes that executors load, which saves a third of their CPU time. The
 * executors of the first cluster list the classes. Beside the second the archive is made.
 */
private object ClassArchive {
  private val home = Paths.get(System.getProperty("spark.home.directory"))
  private val archive = home.resolve("executor.jsa")
  private val lists = home.resolve("classes")
  private var begun = false

  /** For the executors of a cluster that is about to start. */
  def option(): String = synchronized {
    if (Files.exists(archive)) {
      s"-XX:SharedArchiveFile=$archive"
    } else if (!Files.exists(lists)) {
      Files.createDirectories(lists)
      s"-XX:DumpLoadedClassList=$lists/%p"
    } else {
      longestList.filterNot(_ => begun).foreach(make)
      ""
    }
  }

  private def longestList: Option[Path] =
    Using.resource(Files.list(lists))(_.iterator().asScala.toSeq.maxByOption(Files.size))

  private def make(list: Path): Unit = {
    begun = true
    val unfinished = home.resolve("executor.jsa.new")
    val jars = home.resolve("jars")
    val logging = Using.resource(Files.newDirectoryStream(jars, "slf4j-api-*.jar"))(_.asScala.head)
    val dump = new ProcessBuilder(
      ProcessHandle.current().info().command().get(),
      "-Xshare:dump",
      "-XX:+UseSerialGC",
      s"-XX:SharedClassListFile=$list",
      s"-XX:SharedArchiveFile=$unfinished",
      "-cp",
      s"$logging${File.pathSeparator}$jars/*") // as Spark's launcher has it
    dump.redirectErrorStream(true).redirectOutput(home.resolve("executor.jsa.log").toFile)
    dump.start().onExit().thenAccept { ended =>
      if (ended.exitValue() == 0) Files.move(unfinished, archive): Unit
    }: Unit
  }
}

/** The folder that local-cluster masters take their executors' jars from: links to this JVM's own. */
private object SparkHome {
  private val NotSparks = Seq("scalatest", "scalactic", "shuffle-rdma")

  def prepare(): Unit = {
    val jars = Paths.get(System.getProperty("spark.home.directory"), "jars")
    if (!Files.exists(jars)) {
      Files.createDirectories(jars)
      classPath.filter(isSparks).foreach { jar =>
        Files.createSymbolicLink(jars.resolve(jar.getFileName), jar)
      }
    }
  }

  private def classPath: Seq[Path] =
    System.getProperty("java.class.path").split(File.pathSeparator).toSeq.map(Paths.get(_))

  private def isSparks(path: Path): Boolean =
    path.toString.endsWith(".jar") && !NotSparks.exists(path.getFileName.toString.startsWith)
}
