/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, Paths}
import java.nio.file.StandardOpenOption.WRITE

import scala.util.Using

import org.apache.spark.{HashPartitioner, ShuffleDependency, SparkContext, SparkEnv, TaskContext}
import org.scalatest.concurrent.Eventually
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

/** A fault that the device injects into the READ of one executor, once. */
object OnceFault {
  private val directory = Files.createDirectories(Paths.get(System.getProperty("work.directory")))

  /** A file that does not exist yet; the executor in which the fault strikes creates it. */
  def newMark(): Path = {
    val mark = Files.createTempFile(directory, "fault-", ".struck")
    Files.delete(mark)
    mark
  }

  def onRead(effect: String, nth: Int, mark: Path): (String, String) =
    "spark.executorEnv.SOFTVERBS_FAULT" -> s"read:$effect,remote,nth=$nth,once=$mark"
}

abstract class FaultSuite(effect: String, mark: Path, read: Int = FaultSuite.DataRead, more: Seq[(String, String)] = Nil)
    extends OnRdmaCluster(OnceFault.onRead(effect, read, mark) +: more: _*) {
  protected var traffic: Traffic = _

  override def beforeAll(): Unit = {
    super.beforeAll()
    traffic = cluster.groupByKey()
    assert(Files.exists(mark), "the fault did not strike")
  }
}

object FaultSuite {
  /** Past the canary and the descriptors of the few maps that these jobs have. */
  val DataRead = 10
}

/** What a job must give, computed without Spark. */
object RdmaJobsByHand {
  lazy val groupByKey: Seq[(Int, Int)] =
    Jobs.rows.groupMap(_._1)(_._2).view.mapValues(_.sorted.hashCode).toSeq.sorted

  /** Of `Jobs.someOf(Jobs.summed(_, partitions))`, whose keys are small and positive. */
  def someSums(partitions: Int): Seq[(Int, Long)] =
    Jobs.rows
      .groupMapReduce(_._1)(_._2.length.toLong)(_ + _)
      .toSeq
      .filter { case (key, _) => key % partitions % Jobs.ReadEvery == 0 }
      .sorted
}

final class KilledPeerSuite extends FaultSuite("killpeer=1", OnceFault.newMark()) with Eventually {
  private val replacement = timeout(Span(60, Seconds))

  test("an executor killed while it serves a READ costs a stage attempt and no result") {
    assert(traffic.repeatedStages >= 1, traffic)
  }

  test("blocks come by RDMA again once the executor is replaced") {
    eventually(replacement) {
      val executors = cluster.context.getExecutorIds().toSet
      assert(executors.size == 2)
      assert((executors -- Set("0", "1")).nonEmpty, "one that was not there at first")
    }
    val later = cluster.groupByKey()
    assert(later.tcpBytes == 0, later)
    assert(later.rdmaBytes > 0, later)
  }
}

final class RefusedReadSuite extends FaultSuite("status=10", OnceFault.newMark()) {
  test("the block of a refused READ comes by TCP, for that reason") {
    assert(traffic.counter("tcp.blocks") == 1, traffic)
    assert(traffic.counter("fallback.remote-access") == 1, traffic)
    assert(traffic.tcpBytes > 0, traffic)
    assertNoByteLost(traffic)
  }

  test("later blocks of the same peer come by RDMA again") {
    val later = cluster.groupByKey()
    assert(later.tcpBytes == 0, later)
    assert(later.rdmaBytes > 0, later)
  }
}

final class FlippedBitSuite extends FaultSuite("flip=1", OnceFault.newMark()) {
  test("a block whose bytes were damaged on the way is not delivered and is read again") {
    assertNoByteLost(traffic)
  }
}

/** The same faults in a job none of whose outputs finds room to be registered, so that chunks are read. */
abstract class StagedFaultSuite(effect: String, mark: Path)
    extends OnRdmaCluster(
      OnceFault.onRead(effect, FaultSuite.DataRead, mark),
      "spark.shuffle.rdma.maxRegisteredBytes" -> "1m",
      "spark.shuffle.rdma.stagingBytes" -> "256k",
      "spark.shuffle.compress" -> "false") {
  protected def traffic(): Traffic = {
    val seen = cluster.groupByKey()
    assert(Files.exists(mark), "the fault did not strike")
    assert(seen.counter("staged.bytes") == seen.rdmaBytes, seen)
    seen
  }

  protected def assertStagedAtTheFirstAttempt(seen: Traffic): Unit = {
    assert(seen.rdmaBytes > 0, seen)
    assert(seen.rdmaBytes == seen.sparkRemoteBytes, seen)
    assert(seen.repeatedStages == 0, seen)
  }
}

final class StagedKilledPeerSuite extends StagedFaultSuite("killpeer=1", OnceFault.newMark()) {
  test("an executor killed while a chunk of it is read costs a stage attempt and no result") {
    val seen = traffic()
    assert(seen.repeatedStages >= 1, seen)
  }
}

@Slow
final class StagedRefusedReadSuite extends StagedFaultSuite("status=10", OnceFault.newMark()) {
  test("what a refused READ of a chunk was to bring is staged again") {
    assertStagedAtTheFirstAttempt(traffic())
  }
}

@Slow
final class StagedFlippedBitSuite extends StagedFaultSuite("flip=1", OnceFault.newMark()) {
  test("a block whose bytes were damaged between its chunk and the reader is staged again") {
    assertStagedAtTheFirstAttempt(traffic())
  }
}

/** The codec finds out that bytes are damaged, which no checksum shows. */
abstract class DamagedBytesSuite(codec: String, more: (String, String)*)
    extends OnRdmaCluster(
      Seq(
        "spark.io.compression.codec" -> codec,
        "spark.serializer" -> "org.apache.spark.serializer.KryoSerializer",
        "spark.stage.maxConsecutiveAttempts" -> "20") ++ more: _*)

/** Without its header Snappy takes all that it can read for plain bytes. */
final class DamagedReadsSuite
    extends DamagedBytesSuite(
      "snappy",
      "spark.shuffle.rdma.checksum" -> "off",
      "spark.executorEnv.SOFTVERBS_FAULT" -> "read:flip=1,remote,nth=10,count=8") {
  test("no block is lost with one that does not decode") {
    val traffic = cluster.groupByKey()
    assert(traffic.rdmaBytes > 0, traffic)
  }
}

/** The first frame of a file claims to be longer than its block, so that a decoder reads on into what follows. */
abstract class DamagedFilesSuite(settings: (String, String)*) extends DamagedBytesSuite("lz4", settings: _*) {
  test("the map output that does not decode is computed again, and no other") {
    val (result, traffic) = cluster.watched { context =>
      val grouped = Jobs.grouped(context)
      assert(Jobs.hashed(grouped) == RdmaJobsByHand.groupByKey)
      DamagedFilesSuite.lengthenFirstFrame(Paths.get(Jobs.dataFiles(context).head))
      Jobs.hashed(grouped)
    }
    assert(result == RdmaJobsByHand.groupByKey)
    assert(traffic.rdmaBytes > 0, traffic)
    assert(traffic.repeatedStages == 2, s"the maps and the reduces, once each: $traffic")
  }
}

/** Nobody has checksums. */
final class DamagedRegisteredFilesSuite extends DamagedFilesSuite("spark.shuffle.rdma.checksum" -> "off")

/** The owner makes a checksum of what it stages, damaged or not. */
@Slow
final class DamagedStagedFilesSuite
    extends DamagedFilesSuite(
      "spark.shuffle.rdma.maxRegisteredBytes" -> "2m",
      "spark.shuffle.rdma.stagingBytes" -> "512k")

private object DamagedFilesSuite {
  /** The length of the compressed bytes, little endian, lies behind the magic bytes and a token. */
  private val LengthOffset = 9L

  def lengthenFirstFrame(file: Path): Unit =
    Using.resource(FileChannel.open(file, WRITE)) { channel =>
      channel.write(ByteBuffer.wrap(Array[Byte](0, 0x70, 0, 0)), LengthOffset): Unit
    }
}

final class FatalDeviceSuite extends FaultSuite("raise=DEVICE_FATAL", OnceFault.newMark()) {
  test("after a fatal event of its device an executor reads by TCP, and no stage runs again") {
    assert(traffic.tcpBytes > 0, traffic)
    assertNoByteLost(traffic)
  }
}

/** The first registrations are the transport's own; the map outputs meet the fault. */
final class RefusedRegistrationSuite
    extends OnRdmaCluster(
      "spark.executorEnv.SOFTVERBS_FAULT" -> "reg_mr:errno=ENOMEM,nth=3,count=all") {
  test("blocks of map outputs that cannot be registered come by TCP") {
    val traffic = cluster.groupByKey()
    assert(traffic.tcpBytes > 0, traffic)
    assertNoByteLost(traffic)
  }
}

/** The first executor that starts RDMA gets no protection domain. */
final class MixedClusterSuite
    extends OnRdmaCluster(
      "spark.executorEnv.SOFTVERBS_FAULT" -> s"alloc_pd:errno=ENOMEM,once=${OnceFault.newMark()}") {
  test("an executor without RDMA reads by TCP and is read by TCP") {
    val traffic = cluster.groupByKey()
    assert(traffic.counter("fallback.rdma-off") > 0, traffic)
    assert(traffic.counter("fallback.no-location") > 0, traffic)
    assert(traffic.tcpBytes == traffic.sparkRemoteBytes, traffic)
    assert(traffic.repeatedStages == 0, traffic)
  }

  test("an executor without RDMA uses Spark's own reader") {
    val (readers, _) = cluster.watched(ReadersOfExecutors.names)
    assert(readers == Set("BlockStoreShuffleReader", "RdmaShuffleReader"))
  }
}

/** The classes of the readers that the executors make. */
object ReadersOfExecutors {
  private val Tasks = 16

  def names(sc: SparkContext): Set[String] = {
    val shuffled = sc.parallelize(1 to Tasks, 2).map(i => (i, i)).partitionBy(new HashPartitioner(2))
    shuffled.count()
    val handle = shuffled.dependencies.head.asInstanceOf[ShuffleDependency[Int, Int, Int]].shuffleHandle
    sc.parallelize(1 to Tasks, Tasks)
      .map { _ =>
        val context = TaskContext.get()
        val metrics = context.taskMetrics().createTempShuffleReadMetrics()
        SparkEnv.get.shuffleManager
          .getReader[Int, Int](handle, 0, 1, context, metrics)
          .getClass
          .getSimpleName
      }
      .collect()
      .toSet
  }
}

/** It is told by a later completion of the connection or, if there is none, by the deadline. */
final class LostCompletionSuite(mark: Path)
    extends OnRdmaCluster(
      "spark.executorEnv.SOFTVERBS_FAULT" -> s"completion:drop,opcode=READ,nth=6,once=$mark",
      "spark.shuffle.rdma.fetchTimeout" -> "3s") {
  def this() = this(OnceFault.newMark())

  test("blocks of READs whose completion is lost come all the same") {
    val traffic = cluster.groupByKey()
    assert(Files.exists(mark), "the fault did not strike")
    assertNoByteLost(traffic)
  }
}
