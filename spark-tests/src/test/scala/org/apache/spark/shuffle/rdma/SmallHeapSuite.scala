/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import java.io.{Externalizable, ObjectInput, ObjectOutput}

import scala.reflect.ClassTag

import org.apache.spark.{HashPartitioner, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD

/**
 * Sorted shuffles of more than the heap of an executor, in which large records hide among small ones: the tasks must
 * spill, and no executor may run out of memory.
 */
final class SmallHeapSuite
    extends OnRdmaCluster(
      "spark.executor.memory" -> "256m",
      "spark.testing.reservedMemory" -> "20000000", // or Spark refuses so small a heap
      "spark.network.maxRemoteBlockSizeFetchToMem" -> "32m",
      "spark.task.maxFailures" -> "1") {

  for ((name, values) <- SmallHeapJobs.values) {
    test(s"a sort of records $name spills in time") {
      val (sorted, traffic) = cluster.watched(SmallHeapJobs.sort(_, values))
      assert(sorted.forall(_.inOrder), sorted)
      assert(sorted.map(_.records).sum == SmallHeapJobs.Records, sorted)
      assert(sorted.forall(_.diskBytesSpilled > 0), sorted)
      assert(traffic.repeatedStages == 0, traffic)
      assert(traffic.tcpBytes == 0, traffic)
    }
  }
}

/** The jobs, and their records. */
object SmallHeapJobs {
  val Records = 60000

  /** Something that takes {@code bytes} of the heap, more or less. */
  sealed trait Value extends Serializable
  private final case class Bytes(bytes: Array[Byte]) extends Value
  private final case class Boxed(numbers: List[java.lang.Long]) extends Value

  /** Has four bytes when it is serialized. */
  final class Compact(private var bytes: Array[Byte]) extends Value with Externalizable {
    def this() = this(Array.empty)
    override def writeExternal(out: ObjectOutput): Unit = out.writeInt(bytes.length)
    override def readExternal(in: ObjectInput): Unit = bytes = new Array[Byte](in.readInt())
  }

  /** What the record with a number has. */
  val values: Seq[(String, Int => Value)] = Seq(
    "that alternate with markers" -> (i => Bytes(new Array(if (i % 2 == 0) 14000 else 8))),
    "each of which follows sixteen markers" -> (i => Bytes(new Array(if (i % 17 == 16) 120000 else 8))),
    "that grow" -> (i => Bytes(new Array(i / 4))),
    "one of which takes an eighth of the heap" -> (i => Bytes(new Array(if (i == Records / 2) 32 << 20 else 7000))),
    "of boxed numbers" ->
      (i => if (i % 5 == 0) Boxed(List.tabulate(700)(j => (i + j).toLong)) else Bytes(new Array(8))),
    "that are small when they are serialized" -> (i => new Compact(new Array(if (i % 9 == 0) 60000 else 8))))

  final case class Sorted(records: Int, inOrder: Boolean, diskBytesSpilled: Long)

  /** The records come to one task in the order of their numbers, and leave it in another one. */
  def sort(context: SparkContext, value: Int => Value): Seq[Sorted] =
    sorted(context.range(0, Records, 1, 1).map(i => (java.lang.Integer.reverse(i.toInt), value(i.toInt))))

  private def sorted[V: ClassTag](records: RDD[(Int, V)]): Seq[Sorted] =
    records
      .repartitionAndSortWithinPartitions(new HashPartitioner(1))
      .mapPartitions { sorted =>
        var count = 0
        var inOrder = true
        var last = Int.MinValue
        sorted.foreach { case (key, _) =>
          inOrder &= key >= last
          last = key
          count += 1
        }
        Iterator.single(Sorted(count, inOrder, TaskContext.get().taskMetrics().diskBytesSpilled))
      }
      .collect()
      .toSeq
}
