/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.apache.spark.{HashPartitioner, SparkContext}
import org.apache.spark.rdd.RDD

/** Tasks that open very many readers, one after the other. Spark itself keeps 0.7 KiB of each until the task ends. */
final class ManyReadersSuite extends OnRdmaCluster("spark.task.maxFailures" -> "1") {
  test("a task that reads sorted partitions one after the other keeps nothing of those that it has read") {
    val kept = ManyReaders.bytesPerReader(ManyReaders.coalesced(cluster.context), 250, 1750)
    assert(kept < 2048, "of chunks that were sorted")
  }

  for (sorted <- Seq(false, true)) {
    test(s"a task that opens a shuffle once for each record keeps nothing of the readers, sorted: $sorted") {
      val kept = ManyReaders.bytesPerReader(ManyReaders.product(cluster.context, sorted), 1000, 4000)
      assert(kept < 1024)
    }
  }
}

final class ManyReadersByIteratorSuite
    extends OnRdmaCluster("spark.task.maxFailures" -> "1", "spark.shuffle.rdma.reader" -> "spark") {
  test("a task that opens a shuffle once for each record keeps no names of blocks") {
    val (kept, traffic) = cluster.watched { context =>
      ManyReaders.bytesPerReader(ManyReaders.product(context, sorted = false, maps = 64, readers = 2100), 500, 2000)
    }
    assert(kept < 2048) // with the names it is 18 KiB
    assert(traffic.rdmaBytes > 0, traffic)
  }
}

/** The plugin under Spark's own manager has one client for all readers of a task. */
final class ManyReadersBeneathSuite
    extends OnRdmaCluster("spark.task.maxFailures" -> "1", Beneath.SparksManager, Beneath.Plugin) {
  test("a task that opens a shuffle once for each record keeps nothing of the readers") {
    val (kept, traffic) = cluster.watched { context =>
      ManyReaders.bytesPerReader(ManyReaders.product(context, sorted = false), 1000, 4000)
    }
    assert(kept < 1024)
    assert(traffic.rdmaBytes > 0, traffic)
  }
}

/** The jobs. Closures live here, away from ScalaTest's classes. */
object ManyReaders {
  private val RecordsOfPartition = 1000

  /** Each reader has so many records. */
  final case class Read(records: RDD[Int], recordsOfReader: Int)

  def coalesced(context: SparkContext): Read = {
    val partitions = 1760
    Read(
      context
        .range(0, partitions.toLong * RecordsOfPartition, 1, 4)
        .map(i => (i.toInt, 1))
        .repartitionAndSortWithinPartitions(new HashPartitioner(partitions))
        .coalesce(1)
        .keys,
      RecordsOfPartition)
  }

  /** A record of each of so many maps. */
  def product(context: SparkContext, sorted: Boolean, maps: Int = 8, readers: Int = 4100): Read = {
    val left = context.range(0, readers.toLong, 1, 4).map(i => (i.toInt, 1)).partitionBy(new HashPartitioner(1)).keys
    val right = context.range(0, maps.toLong, 1, maps).map(i => (i.toInt, 1))
    val shuffled = if (sorted) right.repartitionAndSortWithinPartitions(new HashPartitioner(1)) else right.partitionBy(new HashPartitioner(1))
    Read(left.cartesian(shuffled.keys).map(_._2), maps)
  }

  /**
   * By how much the live heap grows for each reader between two of them. On a loaded machine it grows by more than a megabyte without any
   * reader, so a test must take enough of them to allow them twice as much altogether.
   */
  def bytesPerReader(read: Read, from: Int, to: Int): Long = {
    val live = read.records
      .mapPartitions { records =>
        var count = 0L
        val live = Seq(from, to).map { readers =>
          while (count < readers.toLong * read.recordsOfReader) {
            records.next(): Unit
            count += 1
          }
          liveBytes
        }
        records.foreach(_ => ())
        live.iterator
      }
      .collect()
    (live(1) - live(0)) / (to - from)
  }

  private def liveBytes: Long = {
    System.gc()
    val runtime = Runtime.getRuntime
    runtime.totalMemory() - runtime.freeMemory()
  }
}
