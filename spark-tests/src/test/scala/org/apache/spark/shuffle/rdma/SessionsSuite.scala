/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._

import org.scalatest.tags.Slow

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession

/**
 * Several sessions of one application, as the Thrift server and Spark Connect have them: their
 * queries run at the same time, and each session has its own class loader on the executors.
 */
@Slow
final class SessionsSuite extends StockResultsSuite() {
  override protected def jobs: Map[String, SparkContext => Any] = Map(
    "a set of sessions that query at the same time" -> SessionJobs.atTheSameTime)
}

object SessionJobs {
  private val Sessions = 4
  private val QueriesOfSession = 3
  private val Limit = 2.minutes

  /** The rows of each query of each session. */
  def atTheSameTime(context: SparkContext): Seq[Seq[Seq[String]]] = {
    implicit val threads: ExecutionContext = ExecutionContext.global
    val running = (0 until Sessions).map(session => Future(queries(context, session)))
    Await.result(Future.sequence(running), Limit)
  }

  /** In a session of its own, for which Spark 4 makes a class loader on each executor. */
  private def queries(context: SparkContext, number: Int): Seq[Seq[String]] = {
    val session = SparkSession.builder().sparkContext(context).getOrCreate().newSession()
    session.conf.set("spark.sql.shuffle.partitions", (number + 2).toString)
    (0 until QueriesOfSession).map { query =>
      val rows = session
        .range(0, 5000, 1, 4)
        .selectExpr(s"id % ${500 + number} as key", s"id * $query as value")
        .groupBy("key")
        .sum("value")
      rows.collect().map(_.toString).sorted.toSeq
    }
  }
}
