/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.apache.spark.SparkContext

/**
 * A shuffle for each of Spark's three writers, with one choice of what its bytes pass through. The plugin's writer takes the
 * place of the first two, unless it is switched off.
 */
abstract class WriterSuite(settings: (String, String)*) extends StockResultsSuite(settings: _*) {
  override protected def jobs: Map[String, SparkContext => Any] = Map(
    "the writer that bypasses the sort" -> WriterJobs.bypassing,
    "the writer of serialized rows" -> WriterJobs.serialized,
    "the sorting writer" -> WriterJobs.sorting)
}

/**
 * As they come by default: compressed by lz4, with checksums by Adler-32. Reducers are not sent to
 * where their blocks are.
 */
final class CompressedFilesSuite
    extends WriterSuite("spark.shuffle.reduceLocality.enabled" -> "false") {
  override protected def jobs: Map[String, SparkContext => Any] = super.jobs ++ Map(
    "map outputs with almost nothing in them" -> WriterJobs.almostNothing,
    "a shuffle of 6400 tiny blocks" -> WriterJobs.tinyBlocks,
    "a job of barrier stages" -> WriterJobs.barriers)
}

final class PlainFilesSuite
    extends WriterSuite(
      "spark.shuffle.compress" -> "false",
      "spark.shuffle.checksum.enabled" -> "false")

/** Spark's writers, which merge several files into the one that is committed when they have spilled. */
final class SpillingWritersSuite
    extends WriterSuite(
      "spark.shuffle.rdma.writer" -> "spark",
      "spark.shuffle.spill.numElementsForceSpillThreshold" -> "1000",
      "spark.io.compression.codec" -> "zstd",
      "spark.shuffle.checksum.algorithm" -> "CRC32C")

final class EncryptedFilesSuite
    extends WriterSuite(
      "spark.io.encryption.enabled" -> "true",
      "spark.shuffle.checksum.algorithm" -> "CRC32")
