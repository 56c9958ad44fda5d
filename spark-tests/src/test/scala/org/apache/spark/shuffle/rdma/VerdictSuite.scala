/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import scala.collection.mutable

import org.apache.spark.{Resubmitted, SparkContext}
import org.apache.spark.scheduler.{
  SparkListener,
  SparkListenerEvent,
  SparkListenerStageCompleted,
  SparkListenerStageSubmitted,
  SparkListenerTaskEnd
}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow

/** What the driver says of a stage that had trouble, and what to change. Each trouble is real. */
@Slow
final class VerdictSuite extends AnyFunSuite {
  private def fault(rule: String) = "spark.executorEnv.SOFTVERBS_FAULT" -> rule

  /** The verdicts on a job of 4 MiB, half of which is remote. */
  private def verdicts(settings: (String, String)*): Seq[String] = verdictsOn(settings: _*)(runJob)

  private def runJob(context: SparkContext): Unit = {
    assert(Jobs.records(Jobs.randomBytes(context, 1)) == 2 * 2048)
    context.listenerBus.waitUntilEmpty()
  }

  private def verdictsOn(settings: (String, String)*)(jobs: SparkContext => Unit): Seq[String] = {
    val said = new Said
    RdmaCluster.using(settings: _*)(cluster => said.during(jobs(cluster.context)))
    said.lines.filter(_.startsWith("INFO Stage "))
  }

  /** The events of stages and tasks, to be posted again. */
  private final class StageEvents extends SparkListener {
    val seen = mutable.Buffer.empty[SparkListenerEvent]

    override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit = seen += event
    override def onTaskEnd(event: SparkListenerTaskEnd): Unit = seen += event
    override def onStageCompleted(event: SparkListenerStageCompleted): Unit = seen += event
  }

  private def assertOne(verdicts: Seq[String], parts: String*): Unit = {
    assert(verdicts.size == 1)
    parts.foreach(part => assert(verdicts.head.contains(part)))
  }

  test("nothing is said of a stage whose blocks come by READs of registered outputs") {
    assert(verdicts().isEmpty)
  }

  test("a budget that is too small is named, with one that is not") {
    assertOne(
      verdicts("spark.shuffle.rdma.maxRegisteredBytes" -> "4m"),
      "100 % of the remote bytes (2.0 MiB of 2.0 MiB) were staged by their owners",
      "set spark.shuffle.rdma.maxRegisteredBytes=68m")
    assert(verdicts("spark.shuffle.rdma.maxRegisteredBytes" -> "68m").isEmpty)
  }

  test("outputs that nobody stages are named") {
    assertOne(
      verdicts("spark.shuffle.rdma.maxRegisteredBytes" -> "1m", "spark.shuffle.rdma.stagingBytes" -> "0"),
      "100 % of the remote bytes (2.0 MiB of 2.0 MiB) came by TCP",
      "because their map outputs have no location")
  }

  test("peers that do not answer are named") {
    assertOne(
      verdicts(fault("link:refuse,count=all")),
      "100 % of the remote bytes (2.0 MiB of 2.0 MiB) came by TCP",
      "because the RDMA addresses of their executors did not answer",
      "look at routes and firewalls")
  }

  private def assertWaits(verdicts: Seq[String], parts: String*): Unit =
    assertOne(verdicts, ": its tasks waited for " +: parts: _*)

  private val forReads = "for READs: when executors stop, the last lines of their logs name the peers whose READs took longest"

  private val lateReads = fault("completion:delay=5000,opcode=READ,min_length=70000")

  test("READs that take long are named, with where to look, and only of the stage in which they did") {
    val said = verdictsOn(lateReads) { context =>
      runJob(context)
      runJob(context)
    }
    assertWaits(said, forReads)
  }

  test("a task that is reported once more when its executor is lost counts once") {
    val said = verdictsOn(lateReads) { context =>
      val events = new StageEvents
      context.addSparkListener(events)
      runJob(context)
      context.removeSparkListener(events)
      events.seen.foreach {
        case ended: SparkListenerTaskEnd =>
          context.listenerBus.post(ended)
          context.listenerBus.post(ended.copy(reason = Resubmitted, taskMetrics = null))
        case other => context.listenerBus.post(other)
      }
      context.listenerBus.waitUntilEmpty()
    }
    assert(said.size == 2)
    assert(said.toSet.size == 1)
  }

  test("a slow link is named by the READs over it") {
    assertWaits(
      verdicts(fault("link:kind=QP,rate=200000,count=all"), "spark.executorEnv.SOFTVERBS_PATH" -> "wire"),
      forReads)
  }

  test("connections that take long are named") {
    assertWaits(
      verdicts(fault("connect:delay=4000,count=all")),
      "for connections, for node services, or for their turn at owners that stage")
  }

  test("READs that fail are named") {
    assertOne(
      verdicts(fault("read:status=REM_OP_ERR,remote,min_length=70000,count=all")),
      "came by TCP",
      "because READs failed or came to a halt",
      "look at their links")
  }
}
