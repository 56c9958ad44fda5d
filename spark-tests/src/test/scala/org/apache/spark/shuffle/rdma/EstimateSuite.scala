/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.file.{Files, Path, Paths}

import scala.collection.mutable
import scala.io.Source
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.json4s._
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}

/** The estimate on logs of real jobs, in a JVM that has the packaged jar alone, against what Spark's own listener counted. */
final class EstimateSuite extends AnyFunSuite {
  private implicit val formats: Formats = DefaultFormats
  private val folder = Files.createTempDirectory(Files.createDirectories(Paths.get(System.getProperty("work.directory"))), "estimate of logs")

  /** By the estimate's names. */
  private type Counts = Map[String, Long]

  private final class Watch extends SparkListener {
    val stages = mutable.Map.empty[Int, Counts]

    override def onTaskEnd(end: SparkListenerTaskEnd): Unit = {
      val read = end.taskMetrics.shuffleReadMetrics
      val write = end.taskMetrics.shuffleWriteMetrics
      val counts = Map(
        "tasks" -> 1L,
        "runMs" -> end.taskMetrics.executorRunTime,
        "remoteBlocks" -> read.remoteBlocksFetched,
        "localBlocks" -> read.localBlocksFetched,
        "remoteBytes" -> read.remoteBytesRead,
        "localBytes" -> read.localBytesRead,
        "fetchWaitMs" -> read.fetchWaitTime,
        "recordsRead" -> read.recordsRead,
        "bytesWritten" -> write.bytesWritten,
        "writeNs" -> write.writeTime,
        "recordsWritten" -> write.recordsWritten)
      val before = stages.getOrElse(end.stageId, Map.empty)
      stages(end.stageId) = counts.map { case (name, count) => name -> (before.getOrElse(name, 0L) + count) }
    }
  }

  private def shuffles(context: SparkContext): Unit = {
    Jobs.sortByKey(context)
    Jobs.reduceByKey(context)
    Jobs.joinWithAdaptiveExecution(context): Unit
  }

  /** Runs jobs on Spark's own shuffle, and returns the log and what was counted. */
  private def logged(settings: (String, String)*)(jobs: SparkContext => Unit): (Path, Map[Int, Counts]) = {
    val logs = Files.createTempDirectory(folder, "logs")
    val watch = new Watch
    RdmaCluster.using(
      Seq(
        "spark.shuffle.manager" -> "sort",
        "spark.eventLog.enabled" -> "true",
        "spark.eventLog.dir" -> logs.toUri.toString) ++ settings: _*) { cluster =>
      cluster.context.addSparkListener(watch)
      jobs(cluster.context)
    }
    (Using.resource(Files.list(logs))(_.iterator().asScala.toSeq).head, watch.stages.toMap)
  }

  /** Runs the program with a small heap and nothing but the jar. Returns its status and what it printed. */
  private def estimate(arguments: String*): (Int, String) = {
    val java = ProcessHandle.current().info().command().get()
    val command = Seq(java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", System.getProperty("plugin.jar"), "--estimate")
    val started = new ProcessBuilder((command ++ arguments): _*).redirectErrorStream(true).start()
    val said = Using.resource(Source.fromInputStream(started.getInputStream, "UTF-8"))(_.mkString)
    (started.waitFor(), said)
  }

  private def assertCounted(log: Path, counted: Map[Int, Counts]): JValue = {
    val file = folder.resolve("report.json")
    val (status, said) = estimate("--json", file.toString, log.toString)
    assert(status == 0, said)
    assert(said.contains("VERDICT: ") && !said.contains("NOTE: "), said)
    val report = parse(Files.readString(file)).children.head
    val stages = (report \ "stages").children.map(stage => (stage \ "stage").extract[Int] -> stage).toMap
    val shuffling = counted.filter { case (_, counts) =>
      counts("remoteBlocks") + counts("localBlocks") + counts("bytesWritten") > 0
    }
    assert(stages.keySet == shuffling.keySet)
    shuffling.foreach { case (stage, counts) =>
      counts.foreach { case (name, count) => assert((stages(stage) \ name).extract[Long] == count, (stage, name)) }
    }
    assert(counted.values.map(_("remoteBlocks")).sum > 0)
    report
  }

  private def writers(report: JValue): Set[(String, String)] = (report \ "stages").children.collect {
    case stage if (stage \ "sparksWriter") != JNothing =>
      ((stage \ "sparksWriter").extract[String], (stage \ "pluginsWriterTakesIt").extract[String])
  }.toSet

  private def assertWritersAndSorts(report: JValue): Unit = {
    assert(writers(report) == Set(("files", "yes"), ("sort", "no")))
    assert((report \ "stages").children.count(stage => (stage \ "sortsByRddKeys").extract[Boolean]) == 1): Unit
  }

  test("a plain log tells the same, and if it is cut, what there is", Slow) {
    val (log, counted) = logged("spark.eventLog.rolling.enabled" -> "false", "spark.eventLog.compress" -> "false")(shuffles)
    assert(Files.isRegularFile(log))
    assertWritersAndSorts(assertCounted(log, counted))

    val bytes = Files.readAllBytes(log)
    val cut = Files.write(folder.resolve("cut"), bytes.take(bytes.length * 2 / 3))
    val (status, said) = estimate(cut.toString)
    assert(status == 0 && said.contains("NOTE: The log has no end of the application"), said)
  }

  test("blocks, bytes and times of each stage are those that Spark's listener counts") {
    val (log, counted) = logged(
      "spark.eventLog.rolling.enabled" -> "true",
      "spark.eventLog.rolling.maxFileSize" -> "10m",
      "spark.eventLog.compress" -> "true")(shuffles)
    assert(Files.isDirectory(log))
    assertWritersAndSorts(assertCounted(log, counted))
  }

  test("a job that computes for long and moves little has nothing to gain", Slow) {
    val (log, counted) = logged() { context =>
      assert(Jobs.longAndSmall(context).toMap == Map(0 -> 4, 1 -> 4))
    }
    val verdict = (assertCounted(log, counted) \ "verdict").extract[String]
    assert(verdict.startsWith("Nothing to gain here: at most "), verdict)
  }
}
