/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import scala.collection.mutable.ArrayBuffer
import scala.reflect.ClassTag
import scala.util.Random
import scala.util.hashing.{byteswap32, byteswap64}

import org.apache.spark.{Aggregator, HashPartitioner, SparkContext, SparkEnv}
import org.apache.spark.rdd.{RDD, ShuffledRDD}

/** Shuffles with an order of keys and no aggregator. Closures live here, away from ScalaTest's classes. */
object SortJobs {
  private val MostRecords = 24000

  /** A shuffle whose keys, order, skew and size are drawn from the seed. */
  def random(seed: Long)(context: SparkContext): Seq[String] = {
    // Neighbouring seeds, and numbers of records, have much the same first draws.
    val random = new Random(byteswap64(seed))
    val scrambler = random.nextInt()
    val different = 1 << random.nextInt(20)
    val skewed = random.nextBoolean()
    val number = (i: Int) => {
      val drawn = byteswap32(scrambler + i)
      if (skewed && drawn % 4 != 0) 0 else Math.floorMod(drawn >> 2, different)
    }
    random.nextInt(7) match {
      case 0 => sorted(context, random, number)
      case 1 => sorted(context, random, i => number(i).toLong << 33)
      case 2 => sorted(context, random, i => s"key ${number(i)}")
      case 3 => sorted(context, random, i => (number(i) % 10, number(i).toString))
      case 4 => sorted(context, random, i => BigDecimal(number(i)) / 7)
      case 5 => sorted(context, random, i => Option(number(i)).filter(_ % 3 != 0))
      case _ => sorted(context, random, number)(ByLastDigit, implicitly[ClassTag[Int]])
    }
  }

  private def sorted[K: Ordering: ClassTag](context: SparkContext, random: Random, key: Int => K): Seq[String] = {
    val records = context
      .parallelize(0 until random.nextInt(MostRecords), 1 + random.nextInt(6))
      .map(i => (key(i), s"value $i"))
    val partitions = 1 + random.nextInt(6)
    inOrder(
      if (random.nextBoolean()) records.sortByKey(random.nextBoolean(), partitions)
      else records.repartitionAndSortWithinPartitions(new HashPartitioner(partitions)))
  }

  /** All records as they come, those with equal keys by their texts: in whose order they arrive is by chance. */
  private def inOrder[K](shuffle: RDD[(K, String)])(implicit ordering: Ordering[K]): Seq[String] =
    shuffle
      .mapPartitionsWithIndex { (partition, records) =>
        val all = ArrayBuffer(s"partition $partition")
        val equal = ArrayBuffer.empty[(K, String)]
        def end(): Unit = {
          all ++= equal.map { case (key, value) => s"$key: $value" }.sorted
          equal.clear()
        }
        records.foreach { record =>
          if (equal.nonEmpty && !ordering.equiv(equal.head._1, record._1)) end()
          equal += record
        }
        end()
        all.iterator
      }
      .collect()
      .toSeq

  /** Takes keys for equal that differ. */
  private object ByLastDigit extends Ordering[Int] {
    override def compare(one: Int, other: Int): Int = Integer.compare(one % 10, other % 10)
  }

  def nothing(context: SparkContext): Seq[String] = inOrder(context.emptyRDD[(Int, String)].sortByKey(numPartitions = 4))

  def fewRecords(context: SparkContext): Seq[String] = of(context, Seq((1, "1"), (2, "2"), (5, "5")))

  /** All records are in two of the partitions, whose tasks spill. */
  def emptyPartitions(context: SparkContext): Seq[String] =
    inOrder(
      context
        .parallelize(0 until MostRecords, 4)
        .map(i => (i % 2 * 3, s"value $i"))
        .repartitionAndSortWithinPartitions(new HashPartitioner(7)))

  def largestKeys(context: SparkContext): Seq[String] =
    of(context, (0 until MostRecords).map(i => (Int.MaxValue - i % 3, i.toString)) :+ ((Int.MinValue, "least")))

  def nullKeysAndValues(context: SparkContext): Seq[String] = {
    implicit val nullsFirst: Ordering[String] = Ordering.by((key: String) => Option(key))(Ordering.Option(Ordering.String))
    val records = (0 until MostRecords).map { i =>
      (if (i % 3 == 0) null else s"key ${i % 100}", if (i % 5 == 0) null else s"value $i")
    }
    inOrder(context.parallelize(records, 4).repartitionAndSortWithinPartitions(new HashPartitioner(4)))
  }

  private def of(context: SparkContext, records: Seq[(Int, String)]): Seq[String] =
    inOrder(context.parallelize(records, 2).repartitionAndSortWithinPartitions(new HashPartitioner(4)))

  /**
   * How often each key comes, which is once, of a shuffle that combines its records and then sorts them in an order
   * that takes keys for equal that differ.
   */
  def combined(context: SparkContext): Map[String, Int] = {
    val words = context.parallelize(0 until MostRecords, 4).map { i =>
      val word = s"key ${byteswap32(i) & 127}"
      (if (byteswap32(i) < 0) word else word.toUpperCase, 1)
    }
    new ShuffledRDD[String, Int, Int](words, new HashPartitioner(1))
      .setAggregator(new Aggregator[String, Int, Int](identity, _ + _, _ + _))
      .setKeyOrdering(IgnoringCase)
      .keys
      .countByValue()
      .map { case (key, times) => key -> times.toInt }
      .toMap
  }

  private object IgnoringCase extends Ordering[String] {
    override def compare(one: String, other: String): Int = one.compareToIgnoreCase(other)
  }

  /** Each reduce task stops or fails after some of its records; returns how many temporary files it then had. */
  def cutShort(context: SparkContext, fails: Boolean): Seq[Int] =
    context
      .parallelize(0 until MostRecords, 4)
      .map(i => (i * 7919 % 10007, s"value $i"))
      .sortByKey(numPartitions = 2)
      .mapPartitions { records =>
        records.take(1000).foreach(_ => ())
        if (fails) throw new IllegalStateException("of the task")
        Iterator.single(filesHere.size)
      }
      .collect()
      .toSeq

  def temporaryFiles(context: SparkContext): Seq[String] =
    Jobs.onBothExecutors(context)(filesHere.iterator)

  private def filesHere: Seq[String] =
    SparkEnv.get.blockManager.diskBlockManager.getAllFiles().map(_.getName).filter(_.startsWith("temp_"))
}
