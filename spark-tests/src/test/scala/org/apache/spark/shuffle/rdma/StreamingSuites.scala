/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.io.File
import java.nio.file.{Files, Paths}
import java.sql.Timestamp

import org.scalatest.tags.Slow

import org.apache.spark.SparkContext
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.{DataFrame, SQLContext, SparkSession}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.OutputMode

/** Queries of Structured Streaming that keep state from one micro-batch to the next. */
final class StreamingSuite extends StockResultsSuite() {
  override protected def jobs: Map[String, SparkContext => Any] = Map(
    "a streaming aggregation whose state expires" -> StreamingJobs.windows)
}

@Slow
final class MoreStreamingSuite extends StockResultsSuite() {
  override protected def jobs: Map[String, SparkContext => Any] = Map(
    "a streaming aggregation of all that came" -> StreamingJobs.counts,
    "a join of two streams" -> StreamingJobs.joined)
}

/** Each returns the rows of the sink after each micro-batch, which hold what the state was. */
object StreamingJobs {
  private val Batches = 3
  private val RowsOfBatch = 3000
  private val Maps = 2

  def counts(context: SparkContext): Seq[Seq[String]] =
    streamed(context, OutputMode.Complete()) { (_, events) =>
      events.groupBy("customer").count()
    }

  /** A window leaves the state, and reaches the sink, once the watermark has passed it. */
  def windows(context: SparkContext): Seq[Seq[String]] =
    streamed(context, OutputMode.Append()) { (_, events) =>
      events
        .withWatermark("time", "1 minute")
        .selectExpr("window(time, '1 minute') as minute", "customer % 10 as region")
        .groupBy("minute", "region")
        .count()
    }

  /** Each event finds the one of the same number in the other stream, a batch later. */
  def joined(context: SparkContext): Seq[Seq[String]] =
    streamed(context, OutputMode.Append()) { (earlier, events) =>
      earlier
        .selectExpr("number as before", "customer as buyer")
        .join(events.selectExpr("number as after", "customer"))
        .where("before + 1 = after")
    }

  private def streamed(context: SparkContext, mode: OutputMode)(
      query: (DataFrame, DataFrame) => DataFrame): Seq[Seq[String]] = {
    val session = SparkSession.builder().sparkContext(context).getOrCreate().newSession()
    import session.implicits._
    implicit val sqlContext: SQLContext = session.sqlContext
    session.conf.set("spark.sql.shuffle.partitions", "3")
    val folder = Files.createDirectories(Paths.get(System.getProperty("work.directory")))
    val checkpoint = Files.createTempDirectory(folder, "checkpoint")
    val source = MemoryStream[(Long, Long, Timestamp)](Maps)
    val stream = source.toDF().toDF("number", "customer", "time")
    val sink = "rows"
    val running = query(stream, stream).writeStream
      .outputMode(mode)
      .format("memory")
      .queryName(sink)
      .option("checkpointLocation", checkpoint.toString)
      .start()
    try {
      val rows = (0 until Batches).map { batch =>
        source.addData(events(batch))
        running.processAllAvailable()
        session.table(sink).collect().map(_.toString).sorted.toSeq
      }
      require(rows.last.nonEmpty, "the stream had no result that could be compared")
      rows
    } finally {
      running.stop()
      JavaUtils.deleteRecursively(checkpoint.toFile: File)
    }
  }

  /** A minute of events for each batch. */
  private def events(batch: Int): Seq[(Long, Long, Timestamp)] =
    (0 until RowsOfBatch).map { row =>
      val number = batch.toLong * RowsOfBatch + row
      (number, number % 701, new Timestamp(batch * 60000L + row))
    }
}
