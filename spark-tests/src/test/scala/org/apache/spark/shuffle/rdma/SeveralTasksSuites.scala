/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.DurationInt
import scala.util.Random

import org.apache.spark.{HashPartitioner, SparkContext}
import org.apache.spark.rdd.RDD
import org.scalatest.tags.Slow

/** Eight tasks at a time in each executor, of several jobs: they share its connections, its fetch buffers and its budget. */
sealed abstract class SeveralTasksSuite(settings: (String, String)*)
    extends OnRdmaCluster(SeveralTasks.Settings ++ settings: _*) {
  private var expected = Seq.empty[SeveralTasks.Digest]

  /** A process has one context at a time. */
  override def beforeAll(): Unit = {
    expected = RdmaCluster.stock()(SeveralTasks.all)
    super.beforeAll()
  }

  protected def assertReadByRdma(traffic: Traffic): Unit

  test("tasks of several jobs read at the same time") {
    val (digests, traffic) = cluster.watched { context =>
      SeveralTasks.atOnce(Seq.fill(3)(() => SeveralTasks.all(context)))
    }
    assert(digests.forall(_ == expected), digests)
    assertReadByRdma(traffic)
  }

  /** Cancels a job four times while it reads a shuffle that was written before. */
  private def cancelledReads(context: SparkContext, interrupts: Boolean): Seq[String] = {
    val shuffled = SeveralTasks.shuffled(context)
    shuffled.count(): Unit
    Seq.fill(4)(SecondThreadJobs.cancel(context, interrupts)(SeveralTasks.readSlowly(shuffled)))
  }

  test("jobs that are cancelled while they read leave the tasks of others alone") {
    val (results, traffic) = cluster.watched { context =>
      SeveralTasks.atOnce(
        Seq(
          () => Seq.fill(4)(if (SeveralTasks.all(context) == expected) "as on stock" else "other records"),
          () => cancelledReads(context, interrupts = false),
          () => cancelledReads(context, interrupts = true)))
    }
    assert(results.head.forall(_ == "as on stock"), results)
    assert(results.tail.flatten.forall(_.contains("cancelled")), results)
    assert(traffic.fetchFailures == 0, traffic)
    assert(traffic.repeatedStages == 0, traffic)
  }
}

@Slow
final class SeveralTasksOnDefaultsSuite extends SeveralTasksSuite() {
  override protected def assertReadByRdma(traffic: Traffic): Unit = assertAllByRdma(traffic)
}

/** Two tasks have room for what they would read in advance, and few map outputs find room to be registered. */
final class SeveralTasksOnLittleMemorySuite
    extends SeveralTasksSuite(
      "spark.shuffle.rdma.poolBytes" -> "16m",
      "spark.shuffle.rdma.maxRegisteredBytes" -> "24m",
      "spark.reducer.maxSizeInFlight" -> "8m") {

  override protected def assertReadByRdma(traffic: Traffic): Unit = {
    assertNoByteLost(traffic)
    assert(traffic.counter("staged.bytes") > 0, traffic)
  }
}

/** The jobs. Closures live here, away from ScalaTest's classes. */
object SeveralTasks {

  /** Records and a sum of what they hold, for each reduce task. */
  type Digest = Seq[(Int, Long)]

  private val CoresOfExecutor = 8
  private val Maps = 16
  private val Reduces = 24
  private val Records = 12000
  private val BytesOfRecord = 1000 // which do not compress

  val Settings: Seq[(String, String)] = Seq(
    "spark.master" -> s"local-cluster[2,$CoresOfExecutor,1024]",
    "spark.cores.max" -> (2 * CoresOfExecutor).toString,
    "spark.task.maxFailures" -> "1")

  /** A shuffle, a sorted one, and one that combines. */
  def all(context: SparkContext): Seq[Digest] = {
    val partitioner = new HashPartitioner(Reduces)
    Seq(
      digest(pairs(context).partitionBy(partitioner), sorted = false),
      digest(pairs(context).repartitionAndSortWithinPartitions(partitioner), sorted = true),
      digest(pairs(context).map { case (i, bytes) => (i / 2, bytes) }.reduceByKey(partitioner, xor(_, _)), sorted = false))
  }

  def shuffled(context: SparkContext): RDD[(Int, Array[Byte])] =
    pairs(context).partitionBy(new HashPartitioner(Reduces))

  def readSlowly(shuffled: RDD[(Int, Array[Byte])]): Long =
    shuffled.map { record => Thread.sleep(5); record._1 }.count()

  /** What they return, when all of them have ended. */
  def atOnce[T](jobs: Seq[() => T]): Seq[T] = Await.result(Future.traverse(jobs)(job => Future(job())), 5.minutes)

  private def pairs(context: SparkContext) = {
    val bytes = BytesOfRecord
    context.parallelize(0 until Records, Maps).map(i => (i, new Random(i).nextBytes(bytes)))
  }

  private def xor(one: Array[Byte], other: Array[Byte]): Array[Byte] =
    one.zip(other).map { case (a, b) => (a ^ b).toByte }

  private def digest(shuffled: RDD[(Int, Array[Byte])], sorted: Boolean): Digest =
    shuffled
      .mapPartitions { records =>
        var last = Int.MinValue
        Iterator.single(records.foldLeft((0, 0L)) { case ((count, sum), (key, bytes)) =>
          require(!sorted || last < key, s"$key comes after $last")
          last = key
          (count + 1, sum + (key + 1L) * java.util.Arrays.hashCode(bytes))
        })
      }
      .collect()
      .toSeq
}
