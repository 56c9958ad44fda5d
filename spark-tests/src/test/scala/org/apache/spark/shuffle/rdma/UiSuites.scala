/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.shufflerdma.sparktests.RdmaPage

private[rdma] object Ui {
  private[rdma] val Live = Seq("spark.ui.enabled" -> "true", "spark.ui.port" -> "0")
}

/** The RDMA tab of a running application. */
final class UiSuite extends OnRdmaCluster(Ui.Live: _*) {
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

  test("what is no number of a page shows the first one, and names are text") {
    cluster.context.setLocalProperty("callSite.short", "<script>alert(1)</script>")
    Jobs.groupByKey(cluster.context)
    cluster.traffic
    val page = RdmaPage.get(s"$ui/rdma/?page=%3Cscript%3E")
    assert(page.contains("&lt;script&gt;alert(1)"))
    assert(!page.contains("<script>alert(1)"))
    assert(RdmaPage.get(s"$ui/rdma/?page=-7") == RdmaPage.get(s"$ui/rdma/?page=1"))
  }
}
