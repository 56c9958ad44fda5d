/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.sparktests;

import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * Bytes that reducers read from other executors, as Spark counts them and as the plugin does.
 * Spark's listener thread writes; to be read once that has heard of all, as when the context has stopped.
 */
final class ShuffleWatch extends SparkListener {
  private long sparkRemoteBytes;
  private long rdmaBytes;
  private long tcpBytes;
  private int repeatedStages;

  @Override
  public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
    if (end.taskMetrics() != null) { // of a lost task
      sparkRemoteBytes += end.taskMetrics().shuffleReadMetrics().remoteBytesRead();
    }
  }

  // A stage reports an accumulator's total over the whole application, so the largest is the last.
  @Override
  public synchronized void onStageCompleted(SparkListenerStageCompleted completed) {
    repeatedStages += completed.stageInfo().attemptNumber() > 0 ? 1 : 0;
    completed.stageInfo().accumulables().foreach(entry -> {
      rdmaBytes = Math.max(rdmaBytes, total(entry._2(), "shuffle.rdma.bytes"));
      tcpBytes = Math.max(tcpBytes, total(entry._2(), "shuffle.rdma.tcp.bytes"));
      return null;
    });
  }

  private static long total(AccumulableInfo info, String name) {
    return info.name().isDefined()
            && info.name().get().equals(name)
            && info.value().isDefined()
            && info.value().get() instanceof Long total
        ? total
        : 0;
  }

  synchronized long sparkRemoteBytes() {
    return sparkRemoteBytes;
  }

  /** Whether every remote byte came by RDMA, and there were some, at the first attempt. */
  synchronized boolean allByRdma() {
    return rdmaBytes > 0 && rdmaBytes == sparkRemoteBytes && tcpBytes == 0 && repeatedStages == 0;
  }

  /** Whether no remote byte came by RDMA, and there were some, at the first attempt. */
  synchronized boolean allWithoutRdma() {
    return rdmaBytes == 0 && sparkRemoteBytes > 0 && repeatedStages == 0;
  }

  @Override
  public synchronized String toString() {
    return "remote_bytes=%d rdma_bytes=%d tcp_bytes=%d repeated_stages=%d"
        .formatted(sparkRemoteBytes, rdmaBytes, tcpBytes, repeatedStages);
  }
}
