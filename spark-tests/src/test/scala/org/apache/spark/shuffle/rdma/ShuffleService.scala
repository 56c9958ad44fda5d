/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.apache.spark.SparkConf
import org.apache.spark.network.TransportContext
import org.apache.spark.network.netty.SparkTransportConf
import org.apache.spark.network.shuffle.{ExternalBlockHandler, RemoteBlockPushResolver}

/** Spark's external shuffle service, in this process; it merges what executors push to it. */
object ShuffleService {
  lazy val port: Int = {
    val conf = SparkTransportConf.fromSparkConf(new SparkConf(), "shuffle", 2)
    val handler = new ExternalBlockHandler(conf, null, new RemoteBlockPushResolver(conf, null))
    new TransportContext(conf, handler, false).createServer().getPort
  }

  def settings: Seq[(String, String)] =
    Seq("spark.shuffle.service.enabled" -> "true", "spark.shuffle.service.port" -> port.toString)
}
