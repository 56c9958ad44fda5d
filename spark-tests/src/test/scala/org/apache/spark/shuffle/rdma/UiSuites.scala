/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets

import scala.collection.mutable.ListBuffer
import scala.jdk.CollectionConverters._

import org.apache.spark.scheduler.{JobSucceeded, ReplayListenerBus, SparkListener, SparkListenerEvent, SparkListenerJobEnd}
import org.apache.spark.util.JsonProtocol
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}
import org.shufflerdma.sparktests.RdmaPage
import org.shufflerdma.ui.{ExecutorState, ExecutorsReported}

private[rdma] object Ui {
  private[rdma] val Live = Seq("spark.ui.enabled" -> "true", "spark.ui.port" -> "0")
}

/** The RDMA tab of a running application. */
final class UiSuite extends OnRdmaCluster(Ui.Live: _*) with Eventually {
  override implicit val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds))

  private def ui: String = cluster.context.uiWebUrl.get

  test("the page has every remote byte of the application, by its way") {
    val (_, traffic) = cluster.watched { context =>
      Jobs.groupByKey(context)
      Jobs.manyPartitions(context)
    }
    assertAllByRdma(traffic)
    assert(RdmaPage.remoteBytes(ui) == traffic.sparkRemoteBytes)
    assert(RdmaPage.get(s"$ui/jobs/").contains("/rdma/"), "no link to the tab")
  }

  test("each executor has its device, its connections, its memory and its share of the bytes") {
    val traffic = cluster.traffic
    eventually {
      assert(RdmaPage.remoteBytesOfExecutors(ui) == traffic.sparkRemoteBytes)
      val executors = RdmaPage.get(s"$ui/rdma/").split("id=\"rdma-executors\"").last
      val connected = "<td>soft\\w+</td><td sorttable_customkey=\"[1-9]".r
      assert(connected.findAllIn(executors).size == 2, executors)
      assert(" [1-9][0-9.]* [KM]iB</td>".r.findAllIn(executors).nonEmpty, executors)
    }
  }

  test("what is no number of a page shows the first one, and names are text") {
    cluster.context.setLocalProperty("callSite.short", "<script>alert(1)</script>")
    Jobs.groupByKey(cluster.context)
    cluster.traffic
    val page = RdmaPage.get(s"$ui/rdma/?page=%3Cscript%3E&executors=%3Cscript%3E")
    assert(page.contains("&lt;script&gt;alert(1)"))
    assert(!page.contains("<script>alert(1)"))
    assert(RdmaPage.get(s"$ui/rdma/?page=-7") == RdmaPage.get(s"$ui/rdma/?page=1"))
  }

  test("a thousand executors more come in pages") {
    val many = (1001 to 2000).map { id =>
      val state = new ExecutorState
      state.executorId = id.toString
      state.device = s"mlx5_$id"
      state
    }
    ExecutorsReported.post(cluster.context, many.asJava)
    cluster.traffic
    val pages = (1 to 11).map(page => RdmaPage.get(s"$ui/rdma/?executors=$page"))
    assert(pages.head.contains("Executors (1002)"))
    assert(pages.flatMap("<td>mlx5_[0-9]+</td>".r.findAllIn(_)).toSet.size == many.size)
    assert(pages.last.contains("<td>mlx5_2000</td>"))
  }
}

/** The plugin's own event in an event log. */
final class ExecutorsReportedSuite extends AnyFunSuite {
  private def event: ExecutorsReported = {
    val state = new ExecutorState
    state.executorId = "7"
    state.device = "mlx5_0"
    state.registeredBytes = 1L << 40
    val reported = new ExecutorsReported
    reported.executors = List(state).asJava
    reported
  }

  private def replayed(lines: String*): Seq[SparkListenerEvent] = {
    val heard = ListBuffer.empty[SparkListenerEvent]
    val bus = new ReplayListenerBus
    bus.addListener(new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit = heard += event
      override def onJobEnd(event: SparkListenerJobEnd): Unit = heard += event
    })
    val log = lines.mkString("\n").getBytes(StandardCharsets.UTF_8)
    bus.replay(new ByteArrayInputStream(log), "log")
    heard.toSeq
  }

  private val end = SparkListenerJobEnd(1, 2, JobSucceeded)

  test("comes back from a log as it was") {
    replayed(JsonProtocol.sparkEventToJsonString(event)) match {
      case Seq(read: ExecutorsReported) =>
        assert(read.executors.size == 1)
        assert(read.executors.get(0).executorId == "7")
        assert(read.executors.get(0).device == "mlx5_0")
        assert(read.executors.get(0).registeredBytes == (1L << 40))
        assert(read.executors.get(0).withoutRdma == null)
      case others => fail(others.toString)
    }
  }

  test("is passed over where its class is not known, and so is a field") {
    val json = JsonProtocol.sparkEventToJsonString(event)
    val ofAnotherVersion = json.replace("ExecutorsReported", "Gone")
    assert(replayed(ofAnotherVersion, JsonProtocol.sparkEventToJsonString(end)) == Seq(end))
    val withAnotherField = json.replace("\"rail\"", "\"gone\"")
    assert(withAnotherField != json)
    assert(replayed(withAnotherField).size == 1)
  }
}
