/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Paths}
import java.util.concurrent.TimeUnit

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.{LogEvent, LoggerContext}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property
import org.scalatest.funsuite.AnyFunSuite

/** The application of another user of the host: its own driver and executors. */
object OtherApplication {
  def main(arguments: Array[String]): Unit = {
    val runs = RdmaCluster.using()(cluster => Seq.fill(3)(cluster.watched(Jobs.groupByKey)))
    val good = runs.forall { case (result, traffic) =>
      result == RdmaJobsByHand.groupByKey && traffic.rdmaBytes > 0 &&
      traffic.rdmaBytes == traffic.sparkRemoteBytes
    }
    System.exit(if (good) 0 else 1)
  }

  def start(): Process = {
    val jvm = ManagementFactory.getRuntimeMXBean
    val log = Files.createTempFile(Paths.get(System.getProperty("work.directory")), "other-", ".log")
    val properties =
      Seq("plugin.jar", "tests.jar", "spark.home.directory", "work.directory")
        .map(name => s"-D$name=${System.getProperty(name)}")
    val command = Seq(ProcessHandle.current().info().command().get()) ++
      jvm.getInputArguments.asScala ++ properties ++
      Seq("-cp", jvm.getClassPath, "org.apache.spark.shuffle.rdma.OtherApplication")
    new ProcessBuilder(command.asJava)
      .redirectErrorStream(true)
      .redirectOutput(log.toFile)
      .start()
  }
}

/** Several applications on one host, and one that has nobody to read from. */
final class ApplicationsSuite extends AnyFunSuite {
  test("two applications shuffle on one host at once") {
    Files.createDirectories(Paths.get(System.getProperty("work.directory")))
    RdmaCluster.using() { cluster =>
      val other = OtherApplication.start()
      try {
        do {
          val traffic = cluster.groupByKey()
          assert(traffic.rdmaBytes > 0, traffic)
          assert(traffic.rdmaBytes == traffic.sparkRemoteBytes, traffic)
        } while (!other.waitFor(100, TimeUnit.MILLISECONDS))
        assert(other.exitValue() == 0)
      } finally other.destroyForcibly()
    }
  }

  test("local mode shuffles without RDMA and without a warning") {
    val warnings = Warnings.during {
      RdmaCluster.using("spark.master" -> "local[2]", "spark.jars" -> "") { cluster =>
        val traffic = cluster.groupByKey()
        assert(traffic.counters.isEmpty, traffic)
        assert(traffic.sparkLocalBytes > 0, traffic)
      }
    }
    assert(warnings.filter(_.matches("(?i).*rdma.*")).isEmpty)
  }
}

/** What is logged in this process, at the level of warnings or above. */
private object Warnings {
  def during(body: => Unit): Seq[String] = {
    val seen = mutable.Buffer.empty[String]
    val appender = new AbstractAppender("warnings", null, null, true, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit = seen.synchronized {
        seen += s"${event.getLoggerName}: ${event.getMessage.getFormattedMessage}"
      }
    }
    appender.start()
    val root = LoggerContext.getContext(false).getConfiguration.getRootLogger
    root.addAppender(appender, Level.WARN, null)
    try body
    finally root.removeAppender("warnings")
    seen.synchronized(seen.toSeq)
  }
}
