/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import scala.collection.mutable

import org.apache.spark.FetchFailed
import org.apache.spark.scheduler.{
  SparkListener,
  SparkListenerStageCompleted,
  SparkListenerTaskEnd
}

/** Bytes that reducers read: the first two as the plugin counts, the next two as Spark does. */
final case class Traffic(
    rdmaBytes: Long,
    tcpBytes: Long,
    sparkRemoteBytes: Long,
    sparkLocalBytes: Long,
    counters: Map[String, Long],
    fetchFailures: Int,
    repeatedStages: Int) {

  def -(earlier: Traffic): Traffic = Traffic(
    rdmaBytes - earlier.rdmaBytes,
    tcpBytes - earlier.tcpBytes,
    sparkRemoteBytes - earlier.sparkRemoteBytes,
    sparkLocalBytes - earlier.sparkLocalBytes,
    counters.map { case (name, value) => name -> (value - earlier.counters.getOrElse(name, 0L)) },
    fetchFailures - earlier.fetchFailures,
    repeatedStages - earlier.repeatedStages)

  def counter(name: String): Long = counters.getOrElse(name, 0L)

  /** Blocks that took TCP for a reason that is counted. */
  def fallbacks: Long = counters.collect { case (s"fallback.$_", blocks) => blocks }.sum
}

/** Adds up what tasks report; read it through [[RdmaCluster.traffic]], which waits for late events. */
final class ShuffleWatch extends SparkListener {
  private val counters = mutable.Map.empty[String, Long]
  private var remoteBytes = 0L
  private var localBytes = 0L
  private var fetchFailures = 0
  private var repeatedStages = 0

  override def onTaskEnd(end: SparkListenerTaskEnd): Unit = synchronized {
    if (end.reason.isInstanceOf[FetchFailed]) {
      fetchFailures += 1
    }
    Option(end.taskMetrics).foreach { metrics =>
      remoteBytes += metrics.shuffleReadMetrics.remoteBytesRead
      localBytes += metrics.shuffleReadMetrics.localBytesRead
    }
    for {
      accumulable <- end.taskInfo.accumulables
      short <- accumulable.name.flatMap(ShuffleWatch.counter)
      update <- accumulable.update
    } {
      counters(short) = counters.getOrElse(short, 0L) + update.toString.toLong
    }
  }

  override def onStageCompleted(completed: SparkListenerStageCompleted): Unit = synchronized {
    if (completed.stageInfo.attemptNumber() > 0) {
      repeatedStages += 1
    }
  }

  def traffic: Traffic = synchronized {
    Traffic(
      counters.getOrElse("bytes", 0L),
      counters.getOrElse("tcp.bytes", 0L),
      remoteBytes,
      localBytes,
      counters.toMap,
      fetchFailures,
      repeatedStages)
  }
}

object ShuffleWatch {
  private val Name = "(?:internal\\.metrics\\.)?shuffle\\.rdma\\.(.+)".r

  /** The plugin's counter that reports by an accumulator of this name, if one does, without its prefix. */
  def counter(accumulator: String): Option[String] = Name.findFirstMatchIn(accumulator).map(_.group(1))
}
