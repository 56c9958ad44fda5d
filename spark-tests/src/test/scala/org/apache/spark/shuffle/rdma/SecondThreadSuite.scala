/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._
import scala.reflect.ClassTag
import scala.util.Try

import org.apache.spark.{HashPartitioner, SparkContext, SparkException, TaskContext}
import org.apache.spark.api.python.{PythonRDD, SimplePythonFunction}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.scalatest.tags.Slow

/**
 * Tasks whose shuffle is read by another thread than their own, which still reads when they end: the driver must
 * hear of the failure that ended them, and of no failed fetch.
 */
abstract class SecondThreadSuite(settings: (String, String)*)
    extends OnRdmaCluster(SecondThreadSuite.Settings ++ settings: _*) {

  private lazy val shuffled: Seq[(String, RDD[(Long, String)])] =
    Seq("a shuffle" -> SecondThreadJobs.shuffled _, "a sorted shuffle" -> SecondThreadJobs.sorted _).map {
      case (name, make) => name -> make(cluster.context)
    }

  /** Runs the job for each kind of shuffle, and returns the messages of the failures. */
  private def failuresOf(job: RDD[(Long, String)] => Any): Seq[String] = {
    val (messages, traffic) = cluster.watched { _ =>
      shuffled.map { case (_, rdd) => rdd.count(); intercept[SparkException](job(rdd)).getMessage }
    }
    assert(traffic.rdmaBytes > 0, traffic)
    assert(traffic.fetchFailures == 0, traffic)
    assert(traffic.repeatedStages == 0, traffic)
    messages
  }

  test("a task that fails while pipe() feeds another program fails with its own failure") {
    for (afterMs <- Seq(0, 50, 200)) {
      val messages = failuresOf(SecondThreadJobs.failBesidePipe(_, afterMs))
      assert(messages.forall(_.contains("IllegalArgumentException: of the user")), messages)
    }
  }

  test("a program that pipe() feeds fails the task with its own status") {
    val messages = failuresOf(SecondThreadJobs.failInPipe)
    assert(messages.forall(_.contains("exited with status 3")), messages)
  }

  test("a task that fails while a thread of the user's reads fails with its own failure") {
    val messages = failuresOf(SecondThreadJobs.failBesideOwnThread)
    assert(messages.forall(_.contains("IllegalArgumentException: of the user")), messages)
  }

  test("a script that TRANSFORM feeds fails the query without a failed fetch") {
    val (failure, traffic) = cluster.watched(context => Try(SecondThreadJobs.transform(context)))
    assert(failure.isFailure)
    assert(traffic.fetchFailures == 0, traffic)
    assert(traffic.repeatedStages == 0, traffic)
  }

  for (interrupts <- Seq(true, false)) {
    test(s"a job that is cancelled while pipe() feeds another program ends, interrupted: $interrupts") {
      val (cancelled, traffic) = cluster.watched { context =>
        shuffled.map { case (_, rdd) => SecondThreadJobs.cancel(context, interrupts)(SecondThreadJobs.lastingPipe(rdd).count()) }
      }
      assert(cancelled.forall(_.contains("cancelled")), cancelled)
      assert(traffic.fetchFailures == 0, traffic)
    }
  }

  test("Python workers get what is shuffled, and how they end is how their tasks end") {
    assume(SecondThreadJobs.pythonWorks, "there is no python3")
    val (_, traffic) = cluster.watched { context =>
      for ((name, rdd) <- shuffled) {
        val echoed = SecondThreadJobs.python(rdd, "echo")
        assert(SecondThreadJobs.totalBytes(echoed) == SecondThreadJobs.totalBytes(SecondThreadJobs.bytesOf(rdd)), name)
        assert(echoed.take(5).length == 5, name)
        assert(SecondThreadJobs.firstOf(echoed, 5000) == 5000L * rdd.getNumPartitions, name)
        assert(SecondThreadJobs.python(rdd, "some 300").count() == 300 * rdd.getNumPartitions, name)
        for (records <- Seq(50, 9000)) {
          val raised = intercept[SparkException](SecondThreadJobs.python(rdd, s"raise $records").count()).getMessage
          assert(raised.contains("raised by the function"), name)
        }
        val died = intercept[SparkException](SecondThreadJobs.python(rdd, "die 2000").count()).getMessage
        assert(died.contains("crashed"), died)
        val cancelled = SecondThreadJobs.cancel(context, interrupts = true)(SecondThreadJobs.slow(SecondThreadJobs.python(rdd, "echo")).count())
        assert(cancelled.contains("cancelled"), cancelled)
      }
    }
    assert(traffic.fetchFailures == 0, traffic)
    assert(traffic.repeatedStages == 0, traffic)
  }
}

object SecondThreadSuite {
  private val Settings = Seq(
    "spark.task.maxFailures" -> "1",
    "spark.python.daemon.module" -> "shuffle_rdma_worker",
    "spark.python.unix.domain.socket.enabled" -> "false",
    "spark.executorEnv.PYTHONPATH" -> System.getProperty("tests.python"),
    "spark.executorEnv.PYTHONDONTWRITEBYTECODE" -> "1")
}

/** The task's own thread would read the blocks, which are registered. */
final class SecondThreadDirectSuite extends SecondThreadSuite()

/** No output finds room, so that their owner stages the blocks. */
@Slow
final class SecondThreadStagedSuite
    extends SecondThreadSuite("spark.shuffle.rdma.maxRegisteredBytes" -> "2m", "spark.shuffle.rdma.stagingBytes" -> "512k")

/** Spark's iterator has the blocks, and Spark's sorter sorts. */
final class SecondThreadIteratorSuite
    extends SecondThreadSuite("spark.shuffle.rdma.reader" -> "spark", "spark.shuffle.rdma.sorter" -> "spark")

/** Spark's own manager has written the blocks, and reads them. */
final class SecondThreadBeneathSuite extends SecondThreadSuite(Beneath.SparksManager, Beneath.Plugin)

/** The jobs. Closures live here, away from ScalaTest's classes. */
object SecondThreadJobs {
  private val Rows = 200000
  private val Partitions = 2

  private def rows(context: SparkContext): RDD[(Long, String)] =
    context.range(0, Rows, 1, 4).map(i => (i: Long) -> s"value $i:" * 8)

  def shuffled(context: SparkContext): RDD[(Long, String)] = rows(context).partitionBy(new HashPartitioner(Partitions))

  def sorted(context: SparkContext): RDD[(Long, String)] =
    rows(context).repartitionAndSortWithinPartitions(new HashPartitioner(Partitions))

  /** A program that takes its lines slowly: it is still being fed when the task has seen its first line. */
  private val Slow = Seq("sh", "-c", "echo begun; while read -r line; do :; done")

  /** One that rests after each 200 lines, so that the job lasts for long enough to be cancelled. */
  private val Lasting =
    Seq("sh", "-c", "i=0; while read -r line; do i=$((i + 1)); [ $((i % 200)) != 0 ] || sleep 0.05; done")

  def slowPipe(rdd: RDD[(Long, String)]): RDD[String] = rdd.map(_.toString).pipe(Slow)

  def lastingPipe(rdd: RDD[(Long, String)]): RDD[String] = rdd.map(_.toString).pipe(Lasting)

  def failBesidePipe(rdd: RDD[(Long, String)], afterMs: Int): Long =
    slowPipe(rdd).map { line =>
      Thread.sleep(afterMs) // of the reading in the other thread
      if (line.nonEmpty) throw new IllegalArgumentException("of the user")
      line
    }.count()

  def failInPipe(rdd: RDD[(Long, String)]): Long =
    rdd.map(_.toString).pipe(Seq("sh", "-c", "head -n 50 > /dev/null; exit 3")).count()

  /** The thread goes on after the task's end, as nobody interrupts it. */
  def failBesideOwnThread(rdd: RDD[(Long, String)]): Long =
    rdd.mapPartitions { rows =>
      val context = TaskContext.get()
      val thrown = new AtomicReference[Throwable]
      val thread = new Thread(() => {
        TaskContext.setTaskContext(context)
        try while (rows.hasNext) rows.next()
        catch { case t: Throwable => thrown.set(t) }
      })
      val first = rows.next()
      context.addTaskCompletionListener[Unit] { _ => // first added, so last called: all reading has ended
        thread.join(10000)
        if (thread.isAlive) throw new IllegalStateException("the thread still reads")
      }
      thread.start()
      Iterator.single(first).map { _ =>
        Thread.sleep(50) // of the reading in the other thread
        if (first._2.nonEmpty) throw new IllegalArgumentException("of the user")
      }
    }.count()

  def transform(context: SparkContext): Unit = {
    val session = SparkSession.builder().sparkContext(context).getOrCreate().newSession()
    session.range(0, Rows, 1, 4).repartition(Partitions, new org.apache.spark.sql.ColumnName("id")).createOrReplaceTempView("shuffled")
    session.sql("SELECT count(*) FROM (SELECT TRANSFORM(id) USING 'head -n 50 /dev/stdin /no/such/file' AS (line STRING) FROM shuffled)").collect(): Unit
  }

  /** Cancels the job once its tasks run; returns the message of its failure. */
  def cancel(context: SparkContext, interrupts: Boolean)(job: => Any): String = {
    val group = s"cancelled-${System.nanoTime()}"
    val failure = new AtomicReference("the job has ended")
    val thread = new Thread(() => {
      context.setJobGroup(group, group, interrupts)
      try job: Unit
      catch { case e: Exception => failure.set(e.getMessage) }
    })
    thread.start()
    while (thread.isAlive && !hasRunningTasks(context, group)) Thread.sleep(20)
    Thread.sleep(300) // of reading
    context.cancelJobGroup(group)
    thread.join(60000)
    failure.get
  }

  private def hasRunningTasks(context: SparkContext, group: String): Boolean = {
    val status = context.statusTracker
    status.getJobIdsForGroup(group).flatMap(status.getJobInfo(_)).flatMap(_.stageIds).flatMap(status.getStageInfo(_)).exists(_.numActiveTasks > 0)
  }

  def slow[T: ClassTag](rdd: RDD[T]): RDD[T] = rdd.mapPartitions(_.map { row => Thread.sleep(1); row })

  def pythonWorks: Boolean = Try(new ProcessBuilder("python3", "--version").start().waitFor() == 0).getOrElse(false)

  def bytesOf(rdd: RDD[(Long, String)]): RDD[Array[Byte]] = rdd.map(_.toString.getBytes(UTF_8))

  def python(rdd: RDD[(Long, String)], command: String): RDD[Array[Byte]] = {
    val function = SimplePythonFunction(
      command.getBytes(UTF_8).toIndexedSeq,
      new java.util.HashMap[String, String],
      Seq.empty[String].asJava,
      "python3",
      "3.11",
      new java.util.ArrayList,
      null)
    new PythonRDD(bytesOf(rdd), function, true, false)
  }

  def totalBytes(rdd: RDD[Array[Byte]]): Long = rdd.map(_.length.toLong).fold(0)(_ + _)

  /** How many records there are among the first so many of each partition. */
  def firstOf(rdd: RDD[Array[Byte]], most: Int): Long =
    rdd.mapPartitions(records => Iterator.single(records.take(most).size.toLong)).sum().toLong
}
