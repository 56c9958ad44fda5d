/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.net.{InetAddress, NetworkInterface}

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.{MapOutputTrackerMaster, SparkEnv}
import org.apache.spark.storage.BlockManagerId
import org.apache.spark.util.Utils

/** Which addresses executors publish to their peers, and that blocks come over them. */
final class AddressSuite extends AnyFunSuite {
  private val Published = ".*shuffle-rdma=1,([^,]+),.*".r

  test("the address that is set is published in place of Spark's host address") {
    assumeIpv6Loopback()
    val executors = groupByKey("spark.shuffle.rdma.address" -> "::1/128")
    assert(executors.map(published) == Set("0:0:0:0:0:0:0:1"))
    assert(!executors.exists(_.host.contains("::1")), executors)
  }

  test("Spark and the shuffle go over IPv6 alone") {
    assumeIpv6Loopback()
    val usual = Utils.localHostName()
    Utils.setCustomHostname("[::1]")
    val executors =
      try
        groupByKey(
          "spark.driver.host" -> "[::1]",
          "spark.driver.bindAddress" -> "[::1]",
          "spark.executor.extraJavaOptions" -> "-Djava.net.preferIPv6Addresses=true")
      finally Utils.setCustomHostname(usual)
    assert(executors.map(_.host) == Set("[::1]"))
    assert(executors.map(published) == Set("0:0:0:0:0:0:0:1"))
  }

  private def assumeIpv6Loopback(): Unit = assume(
    NetworkInterface.getByInetAddress(InetAddress.getByName("::1")) != null,
    "this host has no IPv6 loopback address")

  private def published(executor: BlockManagerId): String = executor.topologyInfo match {
    case Some(Published(host)) => host
    case other => fail(s"no endpoint in $other")
  }

  /** Where the map outputs of a job were, all of whose remote bytes were read by RDMA. */
  private def groupByKey(settings: (String, String)*): Set[BlockManagerId] = {
    RdmaCluster.using(settings: _*) { cluster =>
      val traffic = cluster.groupByKey()
      assert(traffic.tcpBytes == 0, traffic)
      assert(traffic.rdmaBytes > 0, traffic)
      assert(traffic.rdmaBytes == traffic.sparkRemoteBytes, traffic)
      val tracker = SparkEnv.get.mapOutputTracker.asInstanceOf[MapOutputTrackerMaster]
      tracker.shuffleStatuses.values
        .flatMap(_.withMapStatuses(_.map(_.location).toSeq))
        .toSet
    }
  }
}
