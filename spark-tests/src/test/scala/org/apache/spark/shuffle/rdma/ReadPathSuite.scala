/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

/** Two executors that may use only one of the device's READ paths read all bytes that way. */
@Slow
final class ReadPathSuite extends AnyFunSuite with Eventually {
  private val executorsExit = timeout(Span(20, Seconds))
  private val directory = Files.createDirectories(Paths.get(System.getProperty("work.directory")))

  for (path <- Seq("file", "cma", "wire")) {
    test(s"READs take the path $path alone when the others are refused") {
      val statistics = Files.createTempFile(directory, s"device-$path-", ".json")
      val traffic = RdmaCluster.using(
        "spark.executorEnv.SOFTVERBS_PATH" -> path,
        "spark.executorEnv.SOFTVERBS_STATS" -> statistics.toString)(_.groupByKey())
      assert(traffic.tcpBytes == 0, traffic)
      assert(traffic.rdmaBytes > 0, traffic)
      eventually(executorsExit)(assert(Files.readAllLines(statistics).size == 2))
      val bytesByPath =
        Seq("file", "cma", "wire").map(name => name -> total(statistics, s"read_bytes_$name")).toMap
      assert(traffic.sparkLocalBytes > 0, traffic)
      assert(bytesByPath(path) >= traffic.rdmaBytes + traffic.sparkLocalBytes, s"$bytesByPath $traffic")
    }
  }

  private def total(statistics: Path, counter: String): Long = {
    val value = ("\"" + counter + "\":(\\d+)").r.unanchored
    Files.readAllLines(statistics).asScala.collect { case value(number) => number.toLong }.sum
  }
}
