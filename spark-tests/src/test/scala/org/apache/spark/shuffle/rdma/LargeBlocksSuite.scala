/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.util.zip.CRC32

import org.scalatest.tags.Slow

import org.apache.spark.{HashPartitioner, SparkContext}

object LargeBlocks {
  val Partitions = 2
  private val RowBytes = 1 << 20
  private val RowsOfPartition = 2100

  /** One map output with a block of 2.2 GB for each of two reducers: how many bytes, and their checksum. */
  def shuffle(context: SparkContext): Seq[(Int, Long, Long)] =
    context
      .parallelize(Seq(0), 1)
      .flatMap(_ => Iterator.tabulate(RowsOfPartition * Partitions)(i => (i % Partitions, row(i))))
      .partitionBy(new HashPartitioner(Partitions))
      .mapPartitionsWithIndex((index, rows) => Iterator(summary(index, rows.map(_._2))))
      .collect()
      .toSeq

  def expected: Seq[(Int, Long, Long)] = (0 until Partitions).map { index =>
    summary(index, Iterator.tabulate(RowsOfPartition)(i => row(i * Partitions + index)))
  }

  private def row(seed: Int): Array[Byte] = {
    val bytes = new Array[Byte](RowBytes)
    new java.util.Random(seed).nextBytes(bytes)
    bytes
  }

  private def summary(index: Int, rows: Iterator[Array[Byte]]): (Int, Long, Long) = {
    val checksum = new CRC32
    var bytes = 0L
    rows.foreach { row =>
      checksum.update(row)
      bytes += row.length
    }
    (index, bytes, checksum.getValue)
  }
}

/** Files and blocks whose lengths do not fit an int. */
@Slow
final class LargeBlocksSuite
    extends OnRdmaCluster(
      "spark.shuffle.compress" -> "false",
      "spark.shuffle.reduceLocality.enabled" -> "false") {
  test("a block of more than 2 GiB in a file of more than 4 GiB comes by RDMA") {
    val (result, traffic) = cluster.watched(LargeBlocks.shuffle)
    assert(result == LargeBlocks.expected)
    assert(traffic.rdmaBytes > Int.MaxValue, traffic)
    assertAllByRdma(traffic)
  }
}
