/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.xbean.asm9.{ClassReader, ClassWriter, Opcodes}
import org.apache.xbean.asm9.commons.{ClassRemapper, Remapper}
import org.scalatest.funsuite.AnyFunSuite

/** Executors whose Spark lacks a private member, as a vendor's may: it has another name there. */
final class DoctoredSparkSuite extends AnyFunSuite {
  private val Tracker = "org/apache/spark/MapOutputTrackerWorker"
  private val Serializer = "org/apache/spark/sql/execution/UnsafeRowSerializerInstance"

  test("a Spark that lacks a private member shuffles by itself, without a failed task, and names the member") {
    withoutFailedTask(doctored("mapStatuses", Tracker)) { cluster =>
      val traffic = cluster.groupByKey()
      assert(traffic.rdmaBytes == 0, traffic)
      assert(traffic.sparkRemoteBytes > 0, traffic)
      assert(traffic.repeatedStages == 0, traffic)
      logs(cluster.context.applicationId).foreach { log =>
        val warnings = log.linesIterator.filter(_.contains("this build of Spark lacks")).toSeq
        assert(warnings.size == 1, log)
        assert(warnings.head.contains(s"WARN") && warnings.head.contains("mapStatuses ()"), warnings)
      }
    }
  }

  test("a Spark whose serializer of rows lacks a private member serializes them itself, and RDMA brings them") {
    withoutFailedTask(doctored("dataSize", Serializer, s"$Serializer$$$$anon$$1")) { cluster =>
      val (answer, traffic) = cluster.watched(SqlJobs.coalesced)
      assert(answer.rows.size == 3001)
      assert(traffic.rdmaBytes > 0, traffic)
      assert(traffic.repeatedStages == 0, traffic)
      logs(cluster.context.applicationId).foreach { log =>
        val warnings = log.linesIterator.filter(_.contains("serializes rows of SQL")).toSeq
        assert(warnings.size == 1, log)
        assert(warnings.head.contains("NoSuchFieldError"), warnings)
      }
    }
  }

  /** Runs jobs on executors that find these classes before Spark's. */
  private def withoutFailedTask(classes: Path)(jobs: RdmaCluster => Unit): Unit = {
    val failures = new AtomicInteger
    RdmaCluster.using("spark.executor.extraClassPath" -> classes.toString) { cluster =>
      cluster.context.addSparkListener(new SparkListener {
        override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
          if (!end.taskInfo.successful) failures.incrementAndGet(): Unit
      })
      jobs(cluster)
    }
    assert(failures.get == 0)
  }

  /** A folder with classes, in which the member of the first one has another name; the others are those that use it. */
  private def doctored(member: String, owner: String, others: String*): Path = {
    val directory = Files.createDirectories(Paths.get(System.getProperty("work.directory")))
    val folder = Files.createTempDirectory(directory, "doctored-")
    val otherName = new Remapper(Opcodes.ASM9) {
      override def mapMethodName(of: String, name: String, descriptor: String): String = mapped(of, name)

      override def mapFieldName(of: String, name: String, descriptor: String): String = mapped(of, name)

      private def mapped(of: String, name: String): String =
        if (of == owner && (name == member || name.endsWith(s"$$$member"))) s"${name}Elsewhere" else name
    }
    for (name <- owner +: others) {
      val file = folder.resolve(s"$name.class")
      Files.createDirectories(file.getParent)
      val out = new ClassWriter(0)
      Using.resource(getClass.getClassLoader.getResourceAsStream(s"$name.class")) { in =>
        new ClassReader(in).accept(new ClassRemapper(out, otherName), 0)
      }
      Files.write(file, out.toByteArray)
    }
    folder
  }

  /** What each executor of the application has logged. */
  private def logs(application: String): Seq[String] = {
    val work = Paths.get(System.getProperty("spark.home.directory"), "work", application)
    val executors = Using.resource(Files.list(work))(_.iterator().asScala.toSeq)
    assert(executors.size == 2)
    executors.map(executor => Files.readString(executor.resolve("stderr")))
  }
}
