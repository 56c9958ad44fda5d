/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

/** In each executor the first long READ takes 400 ms longer. */
final class LostTimeSuite
    extends OnRdmaCluster(
      "spark.executorEnv.SOFTVERBS_FAULT" -> "completion:delay=400,opcode=READ,min_length=70000") {
  test("tasks report the time that they lose, and executors have the times in Spark's metrics system") {
    val (records, traffic) =
      cluster.watched(context => Jobs.records(Jobs.randomBytes(context, 1)))
    assert(records == 2 * 2048)
    assert(traffic.counter("taskTime.readMicros") > 0)
    val gauges = Jobs.gauges(cluster.context)
    assert(gauges.map(_("shuffle.rdma.time.publication.count")) == Seq(1, 1))
    val reads = Seq("to64KiB", "to1MiB", "over1MiB").map(size => s"shuffle.rdma.time.read.$size.maxMicros")
    assert(gauges.forall(executor => reads.map(executor).max >= 400000))
  }
}
