/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.deploy

import org.apache.spark.SparkConf
import org.apache.spark.deploy.master.Master
import org.apache.spark.deploy.worker.Worker
import org.apache.spark.rpc.RpcEnv
import org.apache.spark.util.Utils

/**
 * A standalone cluster in this process with a worker of one core on each of several hosts, which
 * are addresses of the loopback interface.
 */
final class ClusterOfHosts(hosts: Seq[String], conf: SparkConf) {
  private val WorkerMemoryMb = 1024
  private var running: Seq[RpcEnv] = Nil

  /** The masters' addresses. */
  def start(): Array[String] = {
    val own = conf.clone.set("spark.master.rest.enabled", "false")
    val (master, _, _) = Master.startRpcEnvAndEndpoint(hosts.head, 0, 0, own)
    val masters = Array(master.address.toSparkURL)
    val workers = hosts.zipWithIndex.map { case (host, number) =>
      val work = Utils.createTempDir().getAbsolutePath
      Worker
        .startRpcEnvAndEndpoint(host, 0, 0, 1, WorkerMemoryMb, masters, work, Some(number), own)
    }
    running = workers :+ master
    masters
  }

  def stop(): Unit = {
    running.foreach(_.shutdown())
    running.foreach(_.awaitTermination())
  }
}
