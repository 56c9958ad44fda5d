/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.util.{HashMap => JavaHashMap, Map => JavaMap}
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.{HashPartitioner, SparkEnv}
import org.apache.spark.rpc.{RpcCallContext, RpcEndpoint, RpcEnv}
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

/** Executors whose driver takes long to answer the question with which RDMA starts. */
final class SlowStartSuite extends AnyFunSuite with Eventually {
  import SlowStartSuite._

  test("tasks go on with Spark's own shuffle, and later ones use RDMA") {
    RdmaCluster.using() { cluster =>
      val driver = slowDriver(cluster)
      val traffic = cluster.groupByKey()
      assert(traffic.rdmaBytes == 0, traffic)
      assert(traffic.sparkRemoteBytes > 0, traffic)
      driver.answerAll()
      eventually(timeout(Span(60, Seconds))) {
        val byRdma = cluster.groupByKey()
        assert(byRdma.rdmaBytes > 0, byRdma)
      }
    }
  }

  test("a driver whose part of the plugin cannot be opened says so once, and all is left to Spark's own shuffle") {
    RdmaCluster.using() { cluster =>
      val rpc = SparkEnv.get.rpcEnv
      rpc.setupEndpoint(Name, new Stranger(rpc)): Unit
      val said = new Said
      for (_ <- 1 to 2) {
        val traffic = said.during(cluster.groupByKey())
        assert(traffic.rdmaBytes == 0, traffic)
      }
      assert(said.lines.count(_.startsWith("WARN Shuffle blocks go by TCP: ")) == 1, said.lines)
    }
  }

  /** Takes the place of the endpoint that the plugin has set up, and gives its answer when it may. */
  private def slowDriver(cluster: RdmaCluster): SlowDriver = {
    cluster.context.parallelize(1 to 2).map(n => (n, n)).partitionBy(new HashPartitioner(2)).dependencies
    val rpc = SparkEnv.get.rpcEnv
    val quick = rpc.setupEndpointRef(rpc.address, Name)
    val slow = new SlowDriver(rpc, quick.askSync[JavaMap[String, Array[Byte]]](Question))
    rpc.stop(quick)
    eventually(timeout(Span(10, Seconds)))(rpc.setupEndpoint(Name, slow))
    slow
  }
}

private object SlowStartSuite {
  val Name = "shuffle-rdma"
  val Question = "shuffle-rdma/1"

  /** Has the name already, and gives an answer that no executor understands. */
  final class Stranger(override val rpcEnv: RpcEnv) extends RpcEndpoint {
    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case Question => context.reply(new JavaHashMap[String, Array[Byte]])
    }
  }

  final class SlowDriver(override val rpcEnv: RpcEnv, answer: AnyRef) extends RpcEndpoint {
    private val waiting = new ConcurrentLinkedQueue[RpcCallContext]

    def answerAll(): Unit = waiting.asScala.foreach(_.reply(answer))

    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case Question => waiting.add(context): Unit
    }
  }
}
