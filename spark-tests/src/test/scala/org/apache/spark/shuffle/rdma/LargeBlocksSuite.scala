/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.util.zip.CRC32

import org.scalatest.tags.Slow

import org.apache.spark.{HashPartitioner, SparkContext}

/** One map output with a block for each of two reducers. */
final case class LargeBlocks(rowBytes: Int, rowsOfPartition: Int) {
  private val partitions = 2

  /** How many bytes each reducer has got, and their checksum. */
  def shuffle(context: SparkContext): Seq[(Int, Long, Long)] = {
    context
      .parallelize(Seq(0), 1)
      .flatMap(_ => Iterator.tabulate(rowsOfPartition * partitions)(i => (i % partitions, row(i))))
      .partitionBy(new HashPartitioner(partitions))
      .mapPartitionsWithIndex((index, rows) => Iterator(summary(index, rows.map(_._2))))
      .collect()
      .toSeq
  }

  def expected: Seq[(Int, Long, Long)] = (0 until partitions).map { index =>
    summary(index, Iterator.tabulate(rowsOfPartition)(i => row(i * partitions + index)))
  }

  private def row(seed: Int): Array[Byte] = {
    val bytes = new Array[Byte](rowBytes)
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
    val blocks = LargeBlocks(rowBytes = 1 << 20, rowsOfPartition = 2100)
    val (result, traffic) = cluster.watched(blocks.shuffle)
    assert(result == blocks.expected)
    assert(traffic.rdmaBytes > Int.MaxValue, traffic)
    assertAllByRdma(traffic)
  }
}

/** Two of them do not fit the memory in which the writer keeps what it has serialized. */
@Slow
final class LargeRecordsSuite
    extends OnRdmaCluster("spark.shuffle.reduceLocality.enabled" -> "false") {
  test("records of 300 MB come by RDMA") {
    val blocks = LargeBlocks(rowBytes = 300000000, rowsOfPartition = 2)
    val (result, traffic) = cluster.watched(blocks.shuffle)
    assert(result == blocks.expected)
    assert(traffic.rdmaBytes > 2L * blocks.rowBytes, traffic)
    assertAllByRdma(traffic)
  }
}
