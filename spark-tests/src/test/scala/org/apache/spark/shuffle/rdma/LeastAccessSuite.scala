/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.SparkContext
import org.shufflerdma.verbs.Access

/** What the device of each executor has registered while its reducers read, by the device's own account. */
final class LeastAccessSuite extends OnRdmaCluster() {
  test("during a job peers can read files and records, and nothing that is registered can be written") {
    val (seen, traffic) = cluster.watched(RegionTable.whileReading)
    assert(traffic.rdmaBytes > 0, traffic)
    assert(seen.map(_._1).distinct.size == 2, "both executors reduced")
    for ((executor, regions) <- seen.groupMap(_._1)(_._2).view.mapValues(_.flatten.distinct)) {
      val writable = Access.LOCAL_WRITE | Access.RELAXED_ORDERING
      val (ofFiles, ofMemory) = regions.partition(_.isFile)
      assert(ofFiles.nonEmpty && ofFiles.forall(_.access == Access.REMOTE_READ), s"$executor: $ofFiles")
      val (sinks, records) = ofMemory.partition(region => (region.access & Access.LOCAL_WRITE) != 0)
      assert(sinks.nonEmpty && sinks.forall(sink => (sink.access & ~writable) == 0), s"$executor: $sinks")
      assert(records.nonEmpty && records.forall(_.access == Access.REMOTE_READ), s"$executor: $records")
      assert(records.map(_.length).sum <= (4 << 20), s"$executor: the canary and descriptors, $records")
    }
  }
}

/** A region as the software device shows it to its peers; native-verbs/softdev/memory/peer_table.h draws it. */
final case class Region(access: Int, length: Long, isFile: Boolean)

object RegionTable {
  private val Magic = 0x31545653
  private val Version = 4
  private val HeaderBytes = 4096
  private val EntryBytes = 64
  private val Entries = 65536

  /** The executors' tables in the middle of a reduce stage, each with its executor's id. */
  def whileReading(context: SparkContext): Seq[(String, Seq[Region])] =
    Jobs.whileReading(context)(ofThisProcess())

  private def ofThisProcess(): Seq[Region] =
    Using.resource(Files.newDirectoryStream(Paths.get("/proc/self/fd"))) { descriptors =>
      descriptors.asScala.filter(isTable).toSeq.headOption.map(read).getOrElse(Seq.empty)
    }

  private def isTable(descriptor: Path): Boolean =
    Files.isSymbolicLink(descriptor) &&
      Files.readSymbolicLink(descriptor).toString.startsWith("/memfd:softverbs ")

  private def read(descriptor: Path): Seq[Region] =
    Using.resource(FileChannel.open(descriptor)) { channel =>
      val table = ByteBuffer.allocate(HeaderBytes + Entries * EntryBytes).order(ByteOrder.nativeOrder)
      while (table.hasRemaining && channel.read(table, table.position().toLong) > 0) {}
      require(table.getInt(0) == Magic && table.getInt(4) == Version, "another table than this test knows")
      (0 until Entries).map(HeaderBytes + _ * EntryBytes).filter(at => table.getLong(at) % 2 != 0).map { at =>
        Region(table.getInt(at + 48), table.getLong(at + 16), table.getInt(at + 52) != 0)
      }
    }
}
