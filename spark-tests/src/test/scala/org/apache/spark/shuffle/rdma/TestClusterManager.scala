/* SPDX-License-Identifier: Apache-2.0 */
package org.apache.spark.shuffle.rdma

import org.apache.spark.SparkContext
import org.apache.spark.deploy.{ClusterOfHosts, LocalSparkCluster}
import org.apache.spark.scheduler.{
  ExternalClusterManager,
  SchedulerBackend,
  TaskScheduler,
  TaskSchedulerImpl
}
import org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend
import org.apache.spark.storage.BlockManagerId

/** Clusters of two executors that local-cluster cannot be, by the name of their master. */
object TestClusterManager {
  /** Its executors are on hosts of their own. */
  val TwoHosts = "two-hosts"

  /**
   * Its backend names the shuffle service as a merger, which among Spark's own only YARN's does. The
   * name of the service's host differs from the executors', so that it is remote.
   */
  val Merging = "merging-cluster"
}

final class TestClusterManager extends ExternalClusterManager {
  import TestClusterManager._

  override def canCreate(master: String): Boolean = Set(TwoHosts, Merging).contains(master)

  override def createTaskScheduler(context: SparkContext, master: String): TaskScheduler =
    new TaskSchedulerImpl(context)

  override def createSchedulerBackend(
      context: SparkContext,
      master: String,
      scheduler: TaskScheduler): SchedulerBackend = {
    val tasks = scheduler.asInstanceOf[TaskSchedulerImpl]
    if (master == TwoHosts) onTwoHosts(context, tasks) else merging(context, tasks)
  }

  private def onTwoHosts(context: SparkContext, tasks: TaskSchedulerImpl): SchedulerBackend = {
    val cluster = new ClusterOfHosts(Seq("127.0.0.1", "127.0.0.2"), context.conf)
    val backend = new StandaloneSchedulerBackend(tasks, context, cluster.start())
    backend.shutdownCallback = _ => cluster.stop()
    backend
  }

  private def merging(context: SparkContext, tasks: TaskSchedulerImpl): SchedulerBackend = {
    val cluster = LocalSparkCluster(2, 1, 1024, context.conf)
    val backend = new StandaloneSchedulerBackend(tasks, context, cluster.start()) {
      override def getShufflePushMergerLocations(
          partitions: Int,
          profile: Int): Seq[BlockManagerId] =
        Seq(
          BlockManagerId(
            BlockManagerId.SHUFFLE_MERGER_IDENTIFIER,
            "127.0.0.3", // executors read the files of a service on their own host
            ShuffleService.port))
    }
    backend.shutdownCallback = _ => cluster.stop()
    backend
  }

  override def initialize(scheduler: TaskScheduler, backend: SchedulerBackend): Unit =
    scheduler.asInstanceOf[TaskSchedulerImpl].initialize(backend)
}
