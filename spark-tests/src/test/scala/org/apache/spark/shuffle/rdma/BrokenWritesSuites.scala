/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try, Using}

import org.scalatest.concurrent.{Eventually, PatienceConfiguration}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import org.apache.spark.{HashPartitioner, SparkContext, SparkEnv, SparkException, TaskContext}

/** Map tasks that end in the middle of their output, which they have spilled in part. */
final class BrokenWritesSuite
    extends OnRdmaCluster(
      "spark.memory.fraction" -> "0.005", // of 700 MiB
      "spark.unsafe.exceptionOnMemoryLeak" -> "true")
    with NothingLeft {

  test("a task spills to one file, and has no other open") {
    assertRight(Trouble.looks)
  }

  test("tasks that throw half-way are run again") {
    assertRight(Trouble.throws)
  }

  for (interrupt <- Seq(false, true)) {
    test(s"a cancelled job leaves nothing, interrupted: $interrupt") {
      val trouble = Trouble.waits
      val group = s"cancelled-$interrupt"
      val job = new Thread(() => {
        cluster.context.setJobGroup(group, group, interrupt)
        Try(BrokenWrites.sums(cluster.context, trouble)): Unit
      })
      job.start()
      eventually(patience)(assert(trouble.hasStruck))
      cluster.context.cancelJobGroup(group)
      job.join(60000)
      assert(!job.isAlive)
      assertNothingIsLeft(cluster.context)
      assertRight(Trouble.none)
    }
  }

  test("a task whose spilled bytes have vanished is run again") {
    assertRight(Trouble.deletes)
  }

  test("a job is right whose executor ends in the middle of an output") {
    assertRight(Trouble.halts)
  }

  private def assertRight(trouble: Trouble): Unit = {
    val (sums, traffic) = cluster.watched(BrokenWrites.sums(_, trouble))
    assert(trouble.hasStruck)
    assert(sums == BrokenWrites.byHand)
    assert(traffic.tcpBytes == 0, traffic)
    assertNothingIsLeft(cluster.context)
  }
}

/** The folders of the executors are on a file system that is too small for the map outputs. */
final class FullDiskSuite extends OnRdmaCluster("spark.memory.fraction" -> "0.005") with NothingLeft {
  private val folder = Files.createDirectories(Paths.get(sys.env("SPARK_LOCAL_DIRS")))
  private var mounted = false

  override def beforeAll(): Unit = {
    mounted = NoMappingSuite.runs("mount", "-t", "tmpfs", "-o", "size=100m", "tmpfs", folder.toString)
    if (mounted) super.beforeAll()
  }

  override def afterAll(): Unit =
    if (mounted) {
      try super.afterAll()
      finally assert(NoMappingSuite.runs("umount", "--lazy", folder.toString))
    }

  test("a shuffle for which the disk has no room fails as Spark's does, and one is right when there is room again") {
    assume(mounted, "a small file system could not be mounted, which needs root")
    val failure = intercept[SparkException](BrokenWrites.sums(cluster.context, Trouble.none, times = 4))
    assert(failure.getMessage.contains("No space left on device"))
    assertNothingIsLeft(cluster.context)
    assert(NoMappingSuite.runs("mount", "-o", "remount,size=400m", folder.toString))
    val (sums, traffic) = cluster.watched(BrokenWrites.sums(_, Trouble.none))
    assert(sums == BrokenWrites.byHand)
    assert(traffic.repeatedStages == 0, traffic)
  }
}

/** Looks for what map tasks have left in the executors, once those have had time to end. */
trait NothingLeft extends Eventually { this: AnyFunSuite =>
  protected val patience: PatienceConfiguration.Timeout = timeout(Span(60, Seconds))

  def assertNothingIsLeft(context: SparkContext): Unit =
    eventually(patience) {
      val left = LeftBehind.onExecutors(context)
      assert(left.forall(_.isNothing), left)
    }
}

/** What happens once in each of some maps, when half of its records are written. */
abstract class Trouble(name: String, maps: Set[Int] = BrokenWrites.AllMaps) extends Serializable {
  private val marks = Files
    .createTempDirectory(Files.createDirectories(Paths.get(System.getProperty("work.directory"))), s"$name-")
    .toString

  def strike(): Unit

  /** Each map leaves its mark. */
  def hasStruck: Boolean = Using.resource(Files.list(Paths.get(marks)))(_.count()) == maps.size

  def strikeOnce(map: Int): Unit =
    if (maps(map) && Try(Files.createFile(Paths.get(marks, map.toString))).isSuccess) strike()
}

object Trouble {
  def none: Trouble = new Trouble("nothing", Set.empty) {
    override def strike(): Unit = ()
  }

  def looks: Trouble = new Trouble("looks") {
    override def strike(): Unit = {
      val here = LeftBehind.here()
      require(here.descriptors.size == 1 && here.files.size == 1, here)
    }
  }

  def throws: Trouble = new Trouble("throws") {
    override def strike(): Unit = throw new IllegalStateException("of the user")
  }

  /** In the two tasks that run first. */
  def waits: Trouble = new Trouble("waits", Set(0, 1)) {
    override def strike(): Unit =
      while (true) {
        TaskContext.get().killTaskIfInterrupted()
        TimeUnit.MILLISECONDS.sleep(1)
      }
  }

  def deletes: Trouble = new Trouble("deletes") {
    override def strike(): Unit = LeftBehind.temporaryFiles.foreach(Files.delete)
  }

  def halts: Trouble = new Trouble("halts", Set(3)) {
    override def strike(): Unit = Runtime.getRuntime.halt(1)
  }
}

/** What map tasks have left in an executor. */
final case class LeftBehind(executionMemory: Long, descriptors: Seq[String], files: Seq[String]) {
  def isNothing: Boolean = executionMemory == 0 && descriptors.isEmpty && files.isEmpty
}

object LeftBehind {
  /** The file of what is spilled, and those that become parts of a map output when it is committed. */
  private val Temporary = ".*/(temp_shuffle_.*|shuffle_.*\\.[0-9a-f]{8}-[0-9a-f-]{27})( \\(deleted\\))?"

  def onExecutors(context: SparkContext): Seq[LeftBehind] =
    Jobs.onBothExecutors(context)(Iterator(here()))

  def here(): LeftBehind =
    LeftBehind(SparkEnv.get.memoryManager.executionMemoryUsed, descriptors, temporaryFiles.map(_.toString))

  def temporaryFiles: Seq[Path] =
    SparkEnv.get.blockManager.diskBlockManager.getAllFiles().map(_.toPath).filter(_.toString.matches(Temporary))

  private def descriptors: Seq[String] =
    Using.resource(Files.list(Paths.get("/proc/self/fd"))) {
      _.iterator().asScala
        .flatMap(link => Try(Files.readSymbolicLink(link).toString).toOption)
        .filter(_.matches(Temporary))
        .toList
    }
}

/** The job. Closures live here, away from ScalaTest's classes. */
object BrokenWrites {
  val Maps = 6
  val AllMaps: Set[Int] = (0 until Maps).toSet
  private val Records = 20000
  private val Partitions = 200

  /** Number and digest of the records of each partition. */
  def sums(context: SparkContext, trouble: Trouble, times: Int = 1): Seq[(Int, Long)] =
    context
      .parallelize(0 until Maps, Maps)
      .flatMap(map => (0 until times).iterator.flatMap(_ => records(map, trouble.strikeOnce)))
      .partitionBy(new HashPartitioner(Partitions))
      .mapPartitions(rows => Iterator(sum(rows)))
      .collect()
      .toSeq

  lazy val byHand: Seq[(Int, Long)] = {
    val all = AllMaps.toSeq.flatMap(records(_, _ => ())).groupBy(_._1 % Partitions)
    (0 until Partitions).map(partition => sum(all(partition).iterator))
  }

  private def records(map: Int, atHalf: Int => Unit): Iterator[(Int, Array[Byte])] = {
    val random = new Random(map)
    (0 until Records).iterator.map { number =>
      if (number == Records / 2) atHalf(map)
      val value = new Array[Byte](400)
      random.nextBytes(value)
      (number, value)
    }
  }

  private def sum(rows: Iterator[(Int, Array[Byte])]): (Int, Long) =
    rows.foldLeft((0, 0L)) { case ((count, digest), (key, value)) =>
      (count + 1, digest + java.util.Arrays.hashCode(value).toLong * (key + 1))
    }
}
