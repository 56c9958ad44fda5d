/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.apache.spark.SparkContext
import org.scalatest.funsuite.AnyFunSuite

/** Defaults that many applications share, some of them with another version of the plugin. */
final class SharedDefaultsSuite extends AnyFunSuite {
  private val unknown = "spark.shuffle.rdma.poolByte"

  test("an unknown key is one warning of the driver, which names the nearest key, and RDMA goes on") {
    val said = new Said
    said.during {
      RdmaCluster.using(unknown -> "1g") { cluster =>
        val traffic = cluster.groupByKey()
        assert(traffic.tcpBytes == 0, traffic)
        assert(traffic.rdmaBytes > 0, traffic)
      }
    }
    val warnings = said.lines.filter(_.contains(unknown))
    assert(warnings.size == 1, said.lines)
    assert(warnings.head.startsWith(s"WARN $unknown is unknown and has no effect"))
    assert(warnings.head.contains("The nearest setting is spark.shuffle.rdma.poolBytes:"))
  }

  test("an unknown key ends an application that requires RDMA, before it has executors") {
    val refusal = intercept[Exception](RdmaCluster.start(unknown -> "1g", "spark.shuffle.rdma.required" -> "true"))
    assert(causes(refusal).exists(_.contains(unknown)), refusal)
    assert(SparkContext.getActive.isEmpty)
  }

  test("a value that is not accepted ends each application, with key, value and remedy") {
    val refusal = intercept[Exception](RdmaCluster.start("spark.shuffle.rdma.poolBytes" -> "1m"))
    val parts = Seq("spark.shuffle.rdma.poolBytes=1m", "16m to 1t", "Correct the value or remove the setting")
    assert(causes(refusal).exists(text => parts.forall(text.contains)), refusal)
  }

  private def causes(top: Throwable): Seq[String] =
    Iterator.iterate(top)(_.getCause).takeWhile(_ != null).map(cause => String.valueOf(cause.getMessage)).toSeq
}
