/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.net.ServerSocket

import scala.concurrent.duration.DurationInt
import scala.util.chaining.scalaUtilChainingOps

import org.roaringbitmap.RoaringBitmap
import org.scalatest.BeforeAndAfterEach
import org.scalatest.tags.Slow
import org.shufflerdma.location.MapOutputTrailer
import org.shufflerdma.mapstatus.{MapStatusCarrier, PublishedEndpoint}

import org.apache.spark.{MapOutputTrackerMaster, ShuffleDependency, SparkContext, SparkEnv}
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.{HighlyCompressedMapStatus, MapStatus}
import org.apache.spark.storage.BlockManagerId
import org.apache.spark.util.ThreadUtils

/**
 * Lies in the map statuses of a real job, told on the driver between its map stage and its reduce
 * stage: whatever they are, the job's result is right, by TCP, for a reason that is counted.
 */
sealed abstract class ForgedLocations extends OnRdmaCluster() {
  import ForgedLocations._

  protected def forgedTrailer(name: String, reason: String)(
      forge: (MapOutputTrailer, Seq[MapOutputTrailer]) => MapOutputTrailer): Unit =
    test(s"$name in every trailer gives the right result by TCP, counted as $reason") {
      val traffic = readAfter { statuses =>
        val trailers = statuses.map(trailerOf(_, Partitions))
        statuses.zip(trailers).foreach { case (status, trailer) =>
          rewrite(status, Partitions, forge(trailer, trailers))
        }
      }
      assertByTcp(traffic, reason)
    }

  protected def forgedEndpoint(name: String, reason: String)(
      forge: (PublishedEndpoint, Seq[PublishedEndpoint]) => PublishedEndpoint): Unit =
    test(s"$name as every endpoint gives the right result by TCP, counted as $reason") {
      val traffic = readAfter { statuses =>
        val endpoints = statuses.map(status => PublishedEndpoint.of(status.location).get)
        statuses.zip(endpoints).foreach { case (status, endpoint) =>
          val at = status.location
          val bare = BlockManagerId(at.executorId, at.host, at.port, None)
          status.updateLocation(forge(endpoint, endpoints).addTo(bare))
        }
      }
      assertByTcp(traffic, reason)
    }

  protected def assertByTcp(traffic: Traffic, reason: String): Unit = {
    assert(traffic.rdmaBytes == 0, traffic)
    assert(traffic.tcpBytes > 0, traffic)
    assert(traffic.tcpBytes == traffic.sparkRemoteBytes, traffic)
    assert(traffic.counter(s"fallback.$reason") > 0, traffic)
    val counted = traffic.counters.collect { case (name, n) if name.startsWith("fallback.") => n }
    assert(counted.sum == traffic.counter("tcp.blocks"), traffic)
    assert(traffic.repeatedStages == 0, traffic)
  }

  protected def readAfter(forge: Seq[MapStatus] => Unit): Traffic = {
    val (result, traffic) = cluster.watched { context =>
      Jobs.hashed(mapped(context, Jobs.grouped(context), forge))
    }
    assert(result == RdmaJobsByHand.groupByKey)
    traffic
  }

  protected def readManyAfter(forge: Seq[MapStatus] => Unit): Traffic = {
    val (result, traffic) = cluster.watched { context =>
      Jobs.someOf(mapped(context, Jobs.summed(context, ManyPartitions), forge))
    }
    assert(result == RdmaJobsByHand.someSums(ManyPartitions))
    traffic
  }
}

/** Lies that a reader finds out without a failure of its peer. */
final class ForgedDescriptorSuite extends ForgedLocations {
  import ForgedLocations._

  forgedTrailer("an address within the descriptor", "descriptor") { (trailer, _) =>
    address(trailer, trailer.descriptorAddress + 16)
  }
  forgedTrailer("the generation of an earlier output", "descriptor") { (trailer, _) =>
    generation(trailer, trailer.generation - 1)
  }
  forgedTrailer("the descriptor of another map of the executor", "descriptor") { (trailer, others) =>
    others.filter(_.executorHash == trailer.executorHash).find(_ != trailer).get
  }
  forgedTrailer("the trailer of another executor", "migrated") { (trailer, others) =>
    others.find(_.executorHash != trailer.executorHash).get
  }

  test("a trailer with a flipped bit is none, and the owners stage the blocks") {
    val traffic = readAfter { statuses =>
      statuses.foreach(status => set(status, bytesOf(status).tap(bytes => bytes(bytes.length - 2) = (bytes(bytes.length - 2) ^ 1).toByte)))
    }
    assert(traffic.tcpBytes == 0, traffic)
    assert(traffic.counter("staged.bytes") == traffic.sparkRemoteBytes, traffic)
    assert(traffic.repeatedStages == 0, traffic)
  }

  test("sizes that are wrong are not what is read: the exact ones come from the descriptor") {
    for (code <- Seq[Byte](1, -1)) {
      val traffic = readAfter { statuses =>
        statuses.foreach { status =>
          set(status, bytesOf(status).zipWithIndex.map {
            case (size, i) => if (i < Partitions) code else size
          })
        }
      }
      assert(traffic.tcpBytes == 0, traffic)
      assert(traffic.rdmaBytes == traffic.sparkRemoteBytes, traffic)
    }
  }

  test("forged trailers in statuses of more than 2000 partitions give the right result by TCP") {
    val traffic = readManyAfter { statuses =>
      assert(statuses.forall(_.isInstanceOf[HighlyCompressedMapStatus]))
      statuses.foreach { status =>
        val trailer = trailerOf(status, ManyPartitions)
        rewrite(status, ManyPartitions, generation(trailer, trailer.generation + 100))
      }
    }
    assertByTcp(traffic, "descriptor")
  }

  test("what nobody forged comes by RDMA, before and after") {
    val traffic = readAfter(_ => ())
    assert(traffic.tcpBytes == 0, traffic)
    assert(traffic.rdmaBytes > 0, traffic)
  }
}

/**
 * Lies that look like failures of the peer. Each test has executors of its own, because executors leave
 * a peer that failed three times alone for a minute.
 */
@Slow
final class ForgedLocationSuite extends ForgedLocations with BeforeAndAfterEach {
  import ForgedLocations._

  private val page = 4096L

  forgedTrailer("an address where nothing is registered", "remote-access") { (trailer, _) =>
    address(trailer, 8 * page)
  }
  forgedTrailer("an address beyond the region of the descriptor", "remote-access") { (trailer, _) =>
    address(trailer, trailer.descriptorAddress + (1L << 30))
  }
  forgedTrailer("an address that wraps around the address space", "remote-access") { (trailer, _) =>
    address(trailer, -64)
  }
  forgedTrailer("the key of no region", "remote-access") { (trailer, _) =>
    key(trailer, ~trailer.descriptorRkey)
  }
  forgedTrailer("a descriptor of another executor under this one's name", "remote-access") {
    (trailer, others) =>
      val foreign = others.find(_.executorHash != trailer.executorHash).get
      new MapOutputTrailer(
        trailer.executorHash,
        foreign.generation,
        foreign.descriptorRkey,
        foreign.descriptorAddress)
  }
  forgedEndpoint("an earlier run of the executor", "nonce") { (own, _) =>
    new PublishedEndpoint(own.host, own.port, own.nonceHex.reverse)
  }
  forgedEndpoint("another executor", "rejected")((own, others) => others.find(_ != own).get)
  forgedEndpoint("a port where nobody listens", "connect") { (own, _) =>
    new PublishedEndpoint(own.host, 1, own.nonceHex)
  }
  forgedEndpoint("a port that listens to something else", "connect") { (own, _) =>
    new PublishedEndpoint(own.host, foreignListener.getLocalPort, own.nonceHex)
  }
  forgedEndpoint("a host without an address", "connect") { (own, _) =>
    new PublishedEndpoint("no-such-host.invalid", own.port, own.nonceHex)
  }

  test("one forged status of many costs its own blocks, and the result stays right") {
    val traffic = readAfter { statuses =>
      rewrite(statuses.head, Partitions, address(trailerOf(statuses.head, Partitions), 8 * page))
    }
    assert(traffic.counter("fallback.remote-access") > 0, traffic)
    assert(traffic.rdmaBytes > 0, traffic)
    assertNoByteLost(traffic)
  }

  private lazy val foreignListener = new ServerSocket(0)

  override def beforeAll(): Unit = ()

  override def beforeEach(): Unit = super.beforeAll()

  override def afterEach(): Unit = super.afterAll()

  override def afterAll(): Unit = foreignListener.close()
}

private object ForgedLocations {
  val Partitions = 8
  val ManyPartitions = 2100
  private val FirstMember = 0x7fff0000L

  private val MostShuffles = 20

  /**
   * Runs the map stage of a shuffle alone, then forges what the driver keeps of it. A shuffle of which
   * one executor ran less than two maps, as an executor that starts slowly does, is left for another.
   */
  def mapped[T](context: SparkContext, shuffled: => RDD[T], forge: Seq[MapStatus] => Unit): RDD[T] = {
    val tracker = SparkEnv.get.mapOutputTracker.asInstanceOf[MapOutputTrackerMaster]
    val (result, known) = Iterator
      .continually(shuffled)
      .take(MostShuffles)
      .map { rdd =>
        val shuffle = rdd.dependencies.head.asInstanceOf[ShuffleDependency[_, _, _]]
        ThreadUtils.awaitResult(context.submitMapStage(shuffle), 2.minutes)
        rdd -> tracker.shuffleStatuses(shuffle.shuffleId)
      }
      .find { case (_, known) =>
        val maps = known.mapStatuses.toSeq.groupBy(_.location.executorId).values.map(_.size)
        maps.size == 2 && maps.forall(_ >= 2)
      }
      .get
    forge(known.mapStatuses.toSeq)
    known.invalidateSerializedMapOutputStatusCache()
    result
  }

  def trailerOf(status: MapStatus, partitions: Int): MapOutputTrailer =
    MapStatusCarrier.read(status, partitions).get

  def rewrite(status: MapStatus, partitions: Int, trailer: MapOutputTrailer): Unit = {
    status match {
      case _: HighlyCompressedMapStatus =>
        fieldOf(status, classOf[RoaringBitmap])
          .get(status)
          .asInstanceOf[RoaringBitmap]
          .remove(FirstMember, 1L << 31)
      case _ => set(status, bytesOf(status).take(partitions))
    }
    assert(MapStatusCarrier.write(status, partitions, trailer))
    assert(trailerOf(status, partitions) == trailer)
  }

  def address(t: MapOutputTrailer, forged: Long): MapOutputTrailer =
    new MapOutputTrailer(t.executorHash, t.generation, t.descriptorRkey, forged)

  def key(t: MapOutputTrailer, forged: Int): MapOutputTrailer =
    new MapOutputTrailer(t.executorHash, t.generation, forged, t.descriptorAddress)

  def generation(t: MapOutputTrailer, forged: Long): MapOutputTrailer =
    new MapOutputTrailer(t.executorHash, forged, t.descriptorRkey, t.descriptorAddress)

  def bytesOf(status: MapStatus): Array[Byte] =
    fieldOf(status, classOf[Array[Byte]]).get(status).asInstanceOf[Array[Byte]].clone()

  def set(status: MapStatus, bytes: Array[Byte]): Unit =
    fieldOf(status, classOf[Array[Byte]]).set(status, bytes)

  private def fieldOf(status: MapStatus, kind: Class[_]) = {
    val field = status.getClass.getDeclaredFields.find(_.getType == kind).get
    field.setAccessible(true)
    field
  }
}
