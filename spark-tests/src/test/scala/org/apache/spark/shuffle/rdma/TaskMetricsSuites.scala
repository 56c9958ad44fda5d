/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import scala.collection.mutable

import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}

/** A task by numbers that are the same in each run of the job, and by where it ran. */
final case class TaskOfJob(stage: Int, partition: Int, executor: String)

/** What one run of a job gave, and what its tasks reported, by the names of Spark's accumulators. */
final case class Report(result: Any, tasks: Map[TaskOfJob, Map[String, Long]]) {
  def sum(name: String): Long = tasks.values.map(_.getOrElse(name, 0L)).sum
}

/** Collects all accumulators that tasks have changed, be they known here or not. */
final class TaskReports extends SparkListener {
  private var tasks = mutable.Map.empty[TaskOfJob, Map[String, Long]]

  override def onTaskEnd(end: SparkListenerTaskEnd): Unit = synchronized {
    val task = TaskOfJob(end.stageId, end.taskInfo.index, end.taskInfo.executorId)
    val values = for {
      accumulable <- end.taskInfo.accumulables.toSeq
      name <- accumulable.name
      update <- accumulable.update
    } yield name -> number(update)
    tasks(task) = values.groupMapReduce(_._1)(_._2)(_ + _)
  }

  private def number(update: Any): Long = update match {
    case value: Number => value.longValue
    case other => other.asInstanceOf[java.util.Collection[_]].size
  }

  /**
   * What the tasks of one job reported. Its stages are numbered by their tasks first: adaptive
   * execution starts the stages that do not depend on each other in any order.
   */
  def take(): Map[TaskOfJob, Map[String, Long]] = synchronized {
    val stages = tasks.keys.groupBy(_.stage).toSeq.sortBy { case (id, of) => (of.size, id) }
    val number = stages.map(_._1).zipWithIndex.toMap
    val taken = tasks.map { case (task, values) => task.copy(number(task.stage)) -> values }.toMap
    tasks = mutable.Map.empty
    taken
  }
}

/**
 * The same jobs by stock Spark and by the plugin, their tasks on the same executors: every metric of
 * every task must be the same, also one that a later version of Spark adds. Only what is named here as
 * a time is not compared.
 */
abstract class TaskMetricsSuite(readers: Seq[String], settings: (String, String)*)
    extends AnyFunSuite
    with BeforeAndAfterAll
    with Eventually {
  import TaskMetricsSuite._

  private var stock: Map[String, Report] = Map.empty
  private var rdma: Map[(String, String), Report] = Map.empty

  protected def jobs: Seq[(String, SparkContext => Any)]

  /** Metrics that the jobs are there for, besides those of every shuffle. */
  protected def particular: Seq[String] = Nil

  override def beforeAll(): Unit = {
    stock = run("spark.shuffle.manager" -> "sort")
    rdma = readers.flatMap { reader =>
      run("spark.shuffle.rdma.reader" -> reader).map { case (job, report) =>
        (reader, job) -> report
      }
    }.toMap
  }

  private def run(side: (String, String)): Map[String, Report] = {
    RdmaCluster.using(settings :+ PlacedJobs.Waiting :+ side: _*) { cluster =>
      val reports = new TaskReports
      cluster.context.addSparkListener(reports)
      eventually(timeout(Span(60, Seconds))) {
        assert(PlacedJobs.executors(cluster.context).size == 2)
      }
      jobs.map { case (name, job) =>
        val (result, _) = cluster.watched(job)
        name -> Report(result, reports.take())
      }.toMap
    }
  }

  for (reader <- readers; (job, _) <- jobs) {
    test(s"$job with reader=$reader gives stock Spark's result and task metrics") {
      val expected = stock(job)
      val actual = rdma((reader, job))
      assert(actual.result == expected.result)
      assert(actual.tasks.keySet == expected.tasks.keySet)
      val differences = for {
        (task, metrics) <- expected.tasks.toSeq.sortBy(_._1.toString)
        own = actual.tasks(task)
        name <- (metrics.keySet ++ own.keySet).toSeq.sorted if isCompared(name)
        (theirs, ours) = (metrics.getOrElse(name, 0L), own.getOrElse(name, 0L))
        reduces = own.contains(Records)
        more = if (reduces && OfOrder.contains(name)) theirs / 10 else 0L
        less = if (reduces && OfMemory.contains(name) && job == Sort) theirs * 2 / 3 else more
        if ours > theirs + more || ours < theirs - less
      } yield s"$task: $name is $ours, by stock Spark $theirs"
      assert(differences.isEmpty, differences.mkString("\n", "\n", ""))
      for (metrics <- actual.tasks.values; name <- Times if metrics.contains(name)) {
        assert(metrics(name) >= 0, name)
      }
      assert(actual.sum("shuffle.rdma.bytes") > 0)
    }
  }

  test("the jobs have all these metrics") {
    val none = (OfEveryShuffle ++ particular).filter(name => stock.values.forall(_.sum(name) == 0))
    assert(none.isEmpty)
  }
}

object TaskMetricsSuite {
  private val Internal = "internal.metrics."

  private val OfEveryShuffle = Seq(
    "shuffle.read.remoteBlocksFetched",
    "shuffle.read.remoteBytesRead",
    "shuffle.read.localBlocksFetched",
    "shuffle.read.localBytesRead",
    "shuffle.read.recordsRead",
    "shuffle.write.bytesWritten",
    "shuffle.write.recordsWritten").map(Internal + _)

  private val Records = Internal + "shuffle.read.recordsRead"

  /** Of a reduce task these depend a little on the order in which blocks come, also in stock Spark. */
  private val OfOrder =
    Set("peakExecutionMemory", "peakOnHeapExecutionMemory", "memoryBytesSpilled", "diskBytesSpilled").map(Internal + _)

  /** The plugin's sorter holds its records in less memory than Spark's. */
  private val OfMemory = OfOrder - (Internal + "diskBytesSpilled")

  val Sort = "a sort"

  /** Times, which differ from run to run, by the names of Spark's task metrics and of its SQL metrics. */
  private val Times = Seq(
    "executorDeserializeTime",
    "executorDeserializeCpuTime",
    "executorRunTime",
    "executorCpuTime",
    "jvmGCTime",
    "resultSerializationTime",
    "shuffle.read.fetchWaitTime",
    "shuffle.read.remoteReqsDuration",
    "shuffle.push.read.remoteMergedReqsDuration",
    "shuffle.write.writeTime").map(Internal + _) ++
    Seq("fetch wait time", "remote reqs duration", "shuffle write time", "sort time", "duration")

  /** A result carries the values of all accumulators that are not 0, times and the plugin's own among them. */
  private val ResultSize = Internal + "resultSize"

  private def isCompared(name: String): Boolean =
    !Times.contains(name) && name != ResultSize && ShuffleWatch.counter(name).isEmpty
}

/**
 * Compressed blocks, some of which are so large that they come in files. Spark counts the blocks of a
 * request together for that, the direct reader each by itself: no request here lies between.
 */
@Slow
final class CompressedTaskMetricsSuite
    extends TaskMetricsSuite(
      Seq("direct", "spark"),
      "spark.network.maxRemoteBlockSizeFetchToMem" -> "55k",
      "spark.shuffle.spill.numElementsForceSpillThreshold" -> "5000") {
  override protected def jobs: Seq[(String, SparkContext => Any)] = Seq(
    TaskMetricsSuite.Sort -> PlacedJobs.sorted,
    "reduceByKey" -> PlacedJobs.reduced,
    "a shuffle of small and large blocks" -> PlacedJobs.skewed,
    "a join with adaptive execution" -> PlacedJobs.joined)

  override protected def particular: Seq[String] = Seq(
    "internal.metrics.shuffle.read.remoteBytesReadToDisk",
    "internal.metrics.memoryBytesSpilled",
    "internal.metrics.diskBytesSpilled")
}

/** Blocks whose bytes are one stream for a task. */
final class PlainTaskMetricsSuite
    extends TaskMetricsSuite(
      Seq("direct"),
      "spark.shuffle.compress" -> "false",
      "spark.serializer" -> "org.apache.spark.serializer.KryoSerializer") {
  override protected def jobs: Seq[(String, SparkContext => Any)] = Seq(
    "a repartition" -> PlacedJobs.repartitioned,
    "groupByKey" -> PlacedJobs.grouped,
    "a join with adaptive execution" -> PlacedJobs.joined)
}

@Slow
final class EncryptedTaskMetricsSuite
    extends TaskMetricsSuite(Seq("direct"), "spark.io.encryption.enabled" -> "true") {
  override protected def jobs: Seq[(String, SparkContext => Any)] =
    Seq(TaskMetricsSuite.Sort -> PlacedJobs.sorted)
}
