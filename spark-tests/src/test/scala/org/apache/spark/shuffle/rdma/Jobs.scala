/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import scala.jdk.CollectionConverters._
import scala.reflect.ClassTag
import scala.util.Random

import org.apache.spark.{HashPartitioner, InterruptibleIterator, SparkContext, SparkEnv}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession

/** Shuffles with results that can be compared. Closures live here, away from ScalaTest's classes. */
object Jobs {
  private val Maps = 6
  private val Rows = 60000
  val ReadEvery = 25

  private def row(i: Int): (Int, String) = (i * 7919 % 5003, s"value-$i-${"x" * (i % 40)}")

  /** What `pairs` holds, without Spark. */
  def rows: Seq[(Int, String)] = (0 until Rows).map(row)

  def pairs(context: SparkContext): RDD[(Int, String)] =
    context.parallelize(0 until Rows, Maps).map(row)

  def smallShuffle(context: SparkContext): RDD[(Int, Int)] =
    context.parallelize(0 until 1000, 4).map(i => (i % 50, i)).reduceByKey(_ + _, 4)

  /** 4 MiB that do not compress, half of them from each of the two executors: the barrier sees to that. */
  def randomBytes(context: SparkContext, seed: Int): RDD[(Int, Array[Byte])] =
    context
      .parallelize(0 until 2, 2)
      .barrier()
      .mapPartitions(_.flatMap { map =>
        val random = new Random(seed * 31 + map)
        Iterator.tabulate(2048)(i => (i, random.nextBytes(1024)))
      })
      .partitionBy(new HashPartitioner(4))

  /** What the two executors find; the barrier has both of them look. */
  def onBothExecutors[T: ClassTag](context: SparkContext)(look: => Iterator[T]): Seq[T] =
    context.parallelize(0 until 2, 2).barrier().mapPartitions(_ => look).collect().toSeq

  /** The map outputs that the two executors have. */
  def dataFiles(context: SparkContext): Seq[String] =
    onBothExecutors(context) {
      SparkEnv.get.blockManager.diskBlockManager.getAllFiles().iterator.map(_.getPath).filter(_.endsWith(".data"))
    }

  /** What the plugin tells the metrics systems of the two executors. */
  def gauges(context: SparkContext): Seq[Map[String, Long]] =
    onBothExecutors(context) {
      SparkEnv.get.metricsSystem.getSourcesByName("shuffleRdma").iterator.map { source =>
        source.metricRegistry.getGauges.asScala.map { case (name, gauge) =>
          name -> gauge.getValue.asInstanceOf[Long]
        }.toMap
      }
    }

  /** Four seconds of tasks, for which Spark starts more than one executor if it may. */
  def takeTime(context: SparkContext): Unit = context.range(0, 8, 1, 8).foreach(_ => Thread.sleep(500))

  /** Tasks of five seconds that shuffle next to nothing, each to every reducer. */
  def longAndSmall(context: SparkContext): Seq[(Int, Int)] =
    context.parallelize(1 to 4, 4).flatMap { _ => Thread.sleep(5000); Seq(0 -> 1, 1 -> 1) }.reduceByKey(_ + _, 2).collect().toSeq

  /** How many there are, read anew from the shuffle. */
  def records(shuffle: RDD[(Int, Array[Byte])]): Long = shuffle.map(_._2.length).count()

  /** A shuffle of so many map outputs, to be kept, and what it sums up. */
  def ofManyMaps(context: SparkContext, maps: Int): (RDD[(Int, Long)], Seq[(Int, Long)]) = {
    val sums = context.parallelize(0 until maps, maps).map(i => (i % 7, i.toLong)).reduceByKey(_ + _, 4)
    (sums, sums.collect().sorted.toSeq)
  }

  def groupByKey(context: SparkContext): Seq[(Int, Int)] = hashed(grouped(context))

  def grouped(context: SparkContext): RDD[(Int, Iterable[String])] = pairs(context).groupByKey(8)

  def hashed(groups: RDD[(Int, Iterable[String])]): Seq[(Int, Int)] =
    groups.mapValues(_.toSeq.sorted.hashCode).collect().sorted.toSeq

  /** Each task leaves some of its blocks unread. */
  def endEarly(context: SparkContext): Long =
    pairs(context)
      .partitionBy(new HashPartitioner(8))
      .mapPartitions(records => Iterator.single(records.take(Rows / 8 * 2 / 3).size))
      .sum()
      .toLong

  /** What each reducer sees when it has read half of its records, with its executor's id. */
  def whileReading[T: ClassTag](context: SparkContext)(look: => T): Seq[(String, T)] =
    pairs(context)
      .partitionBy(new HashPartitioner(8))
      .mapPartitions { records =>
        records.take(Rows / 8 / 2).foreach(_ => ())
        Iterator.single((SparkEnv.get.executorId, look))
      }
      .collect()
      .toSeq

  def reduceByKey(context: SparkContext): Seq[(Int, Long)] =
    pairs(context).mapValues(_.length.toLong).reduceByKey(_ + _, 8).collect().sorted.toSeq

  /** How many rows there are. Each task reads four partitions, one after the other. */
  def coalesced(context: SparkContext): Long =
    pairs(context).partitionBy(new HashPartitioner(8)).coalesce(2).count()

  def sortByKey(context: SparkContext): Seq[Int] =
    pairs(context).sortByKey(ascending = true, 8).keys.collect().toSeq

  /** The classes of the iterators from which reduce tasks take sorted records. */
  def sorters(context: SparkContext): Seq[String] =
    pairs(context)
      .sortByKey(ascending = true, 8)
      .mapPartitions { records =>
        val sorted = records.asInstanceOf[InterruptibleIterator[_]].delegate
        Iterator.single(sorted.getClass.getName)
      }
      .collect()
      .toSeq

  /** 2,100 partitions, so that map statuses are of the highly compressed kind; some are read. */
  def manyPartitions(context: SparkContext): Seq[(Int, Long)] = someOf(summed(context, 2100))

  def summed(context: SparkContext, partitions: Int): RDD[(Int, Long)] =
    pairs(context).mapValues(_.length.toLong).reduceByKey(_ + _, partitions)

  def someOf(summed: RDD[(Int, Long)]): Seq[(Int, Long)] = {
    val some = 0 until summed.getNumPartitions by ReadEvery
    summed.context
      .runJob(summed, (rows: Iterator[(Int, Long)]) => rows.toArray, some)
      .flatten
      .sorted
      .toSeq
  }

  /** A sort-merge join and an aggregation under adaptive execution. */
  def joinWithAdaptiveExecution(context: SparkContext): Seq[(Long, Long)] = {
    val session = SparkSession
      .builder()
      .sparkContext(context)
      .config("spark.sql.adaptive.enabled", "true")
      .config("spark.sql.autoBroadcastJoinThreshold", "-1")
      .config("spark.sql.shuffle.partitions", "16")
      .getOrCreate()
    val orders = session.range(0, 40000, 1, Maps).selectExpr("id", "id % 997 as customer")
    val customers = session.range(0, 997, 1, 2).selectExpr("id as customer", "id % 13 as region")
    orders
      .join(customers, "customer")
      .groupBy("region")
      .count()
      .collect()
      .map(row => (row.getLong(0), row.getLong(1)))
      .sorted
      .toSeq
  }
}
