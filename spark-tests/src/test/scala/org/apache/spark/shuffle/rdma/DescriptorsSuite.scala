/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.file.{Files, Path, Paths}
import java.nio.file.attribute.PosixFilePermissions
import java.util.concurrent.atomic.AtomicInteger

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.{Success, TaskEndReason}
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}

/** More map outputs than executors may have files open. */
final class DescriptorsSuite extends AnyFunSuite {
  private val Maps = 600
  private val OpenFiles = 1024

  /** Stock Spark can do with so many. */
  private val TooFewForRdma = 256

  /** Of the files that the two executors may have open beyond 256, a quarter is for registered outputs. */
  private val Registered = 2L * (OpenFiles - 256) / 4

  private final class FailedTasks extends SparkListener {
    private val failed = new AtomicInteger

    override def onTaskEnd(ended: SparkListenerTaskEnd): Unit =
      if ((ended.reason: TaskEndReason) != Success) failed.incrementAndGet(): Unit

    def count: Int = failed.get
  }

  /** A JAVA_HOME whose java may have so many files open. The JVM takes the hard limit for its soft one. */
  private def javaWith(openFiles: Int): Path = {
    val homes = Files.createDirectories(Paths.get(System.getProperty("spark.home.directory")))
    val home = Files.createTempDirectory(homes, "java")
    val java = Files.createDirectories(home.resolve("bin")).resolve("java")
    Files.writeString(
      java,
      s"""#!/bin/sh
         |ulimit -n $openFiles
         |exec '${System.getProperty("java.home")}/bin/java' "$$@"
         |""".stripMargin)
    Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"))
    home
  }

  test("a job of 600 map outputs runs on executors that may have few files open") {
    val expected = RdmaCluster.stock()(context => Jobs.ofManyMaps(context, Maps)._2)
    val said = new Said
    val failed = new FailedTasks
    RdmaCluster.using("spark.executorEnv.JAVA_HOME" -> javaWith(OpenFiles).toString) { cluster =>
      cluster.context.addSparkListener(failed)
      said.during {
        val rounds = (0 until 3).map(_ => cluster.watched(Jobs.ofManyMaps(_, Maps)))
        rounds.foreach { case ((_, result), seen) =>
          assert(result == expected)
          assert(seen.tcpBytes == 0, seen)
          assert(seen.repeatedStages == 0, seen)
        }
        assert(rounds.last._2.counter("staged.bytes") == rounds.last._2.rdmaBytes, rounds.last._2)
        cluster.context.listenerBus.waitUntilEmpty()
      }
      val gauges = Jobs.gauges(cluster.context)
      def sum(name: String): Long = gauges.map(_(s"shuffle.rdma.outputs.$name")).sum
      assert(sum("published") == Registered)
      assert(sum("unpublished.descriptors") == 3 * Maps - Registered)
      assert(failed.count == 0)
    }
    val verdicts = said.lines.filter(_.contains(" were staged by their owners"))
    assert(verdicts.nonEmpty)
    verdicts.foreach { verdict =>
      assert(verdict.contains("whose share of open files or mappings was used up"))
      assert(verdict.contains("raise the limit of open files of the executors (ulimit -n"))
    }
  }

  test("executors that may have very few files open do without RDMA") {
    val expected = RdmaCluster.stock()(context => Jobs.ofManyMaps(context, Maps)._2)
    val failed = new FailedTasks
    RdmaCluster.using("spark.executorEnv.JAVA_HOME" -> javaWith(TooFewForRdma).toString) { cluster =>
      cluster.context.addSparkListener(failed)
      val ((_, result), seen) = cluster.watched(Jobs.ofManyMaps(_, Maps))
      assert(result == expected)
      assert(seen.rdmaBytes == 0, seen)
      assert(seen.counter("fallback.rdma-off") > 0, seen)
      assert(failed.count == 0)
    }
  }
}
