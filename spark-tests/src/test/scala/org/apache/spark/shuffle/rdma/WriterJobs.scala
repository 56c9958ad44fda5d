/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import scala.reflect.ClassTag

import org.apache.spark.{BarrierTaskContext, HashPartitioner, ShuffleDependency, SparkContext}
import org.apache.spark.rdd.{RDD, ShuffledRDD}
import org.apache.spark.serializer.KryoSerializer
import org.apache.spark.shuffle.{BaseShuffleHandle, ShuffleHandle}
import org.apache.spark.shuffle.sort.{BypassMergeSortShuffleHandle, SerializedShuffleHandle}

/** A shuffle whose map outputs are read as often as one likes. */
final class KeptShuffle(context: SparkContext) {
  private val shuffled =
    context.parallelize(0 until 20000, 12).map(i => (i % 701, i)).groupByKey(8)

  def read(): Seq[(Int, Int)] =
    shuffled.mapValues(_.toSeq.sorted.hashCode).collect().sorted.toSeq

  /** Reads it, and kills a process when the first records of each task have come. */
  def readAndKill(pid: Long): Seq[(Int, Int)] =
    shuffled
      .mapPartitions { groups =>
        val first = groups.take(1).toSeq
        ProcessHandle.of(pid).ifPresent(process => process.destroyForcibly(): Unit)
        first.iterator ++ groups
      }
      .mapValues(_.toSeq.sorted.hashCode)
      .collect()
      .sorted
      .toSeq

  def forget(): Unit = shuffled.cleanShuffleDependencies(blocking = true)
}

/** A shuffle for each of Spark's writers, and outputs of unusual shapes. */
object WriterJobs {
  private val Rows = 60000

  private def pairs(context: SparkContext, maps: Int): RDD[(Int, String)] =
    context.parallelize(0 until Rows, maps).map(i => (i * 7919 % 5003, "x" * (i % 40) + i))

  def bypassing(context: SparkContext): Seq[(Int, Int)] =
    read(writtenBy[BypassMergeSortShuffleHandle[_, _]](pairs(context, 6).partitionBy(eight)))

  def serialized(context: SparkContext): Seq[(Int, Int)] = {
    val shuffled =
      new ShuffledRDD[Int, String, String](pairs(context, 6), new HashPartitioner(210))
    shuffled.setSerializer(new KryoSerializer(context.getConf))
    read(writtenBy[SerializedShuffleHandle[_, _]](shuffled))
  }

  def sorting(context: SparkContext): Seq[(Int, Int)] = {
    val combined = pairs(context, 6).aggregateByKey("", eight)(longer, longer)
    read(writtenBy[BaseShuffleHandle[_, _, _]](combined))
  }

  /** Only one of the maps has anything, and that for the two partitions that are read first. */
  def almostNothing(context: SparkContext): Seq[(Int, Int)] = {
    val some = pairs(context, 6).mapPartitionsWithIndex { (map, rows) =>
      rows.filter { case (key, _) => map == 0 && key % 8 < 2 }
    }
    read(some.partitionBy(eight))
  }

  /** 6,400 blocks of some tens of bytes. */
  def tinyBlocks(context: SparkContext): Seq[(Int, Int)] =
    read(pairs(context, 80).partitionBy(new HashPartitioner(80)))

  def barriers(context: SparkContext): Seq[(Int, Int)] = {
    val maps = context.parallelize(0 until 20000, 2).barrier().mapPartitions { rows =>
      BarrierTaskContext.get().barrier()
      rows.map(i => (i % 701, i))
    }
    maps
      .groupByKey(2)
      .barrier()
      .mapPartitions { rows =>
        BarrierTaskContext.get().barrier()
        rows.map { case (key, values) => (key, values.toSeq.sorted.hashCode) }
      }
      .collect()
      .sorted
      .toSeq
  }

  private def eight: HashPartitioner = new HashPartitioner(8)

  private def longer(left: String, right: String): String =
    Seq(left, right).maxBy(value => (value.length, value))

  private def read(shuffled: RDD[(Int, String)]): Seq[(Int, Int)] =
    shuffled
      .mapPartitionsWithIndex { (index, rows) =>
        Iterator((index, rows.toSeq.sorted.hashCode))
      }
      .collect()
      .toSeq

  private def writtenBy[H <: ShuffleHandle](rdd: RDD[(Int, String)])(
      implicit expected: ClassTag[H]): RDD[(Int, String)] = {
    val handle = rdd.dependencies.head.asInstanceOf[ShuffleDependency[_, _, _]].shuffleHandle
    require(handle.getClass == expected.runtimeClass, handle.getClass)
    rdd
  }
}
