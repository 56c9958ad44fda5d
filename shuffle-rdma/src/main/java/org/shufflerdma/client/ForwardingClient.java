/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import com.codahale.metrics.MetricSet;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockPushingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.MergeFinalizerListener;
import org.apache.spark.network.shuffle.MergedBlocksMetaListener;
import org.apache.spark.network.shuffle.checksum.Cause;

/** A client that leaves to Spark's all but the fetching of blocks. What it forwards, any thread may call. */
public abstract class ForwardingClient extends BlockStoreClient {
  protected final BlockStoreClient spark;

  /** @param spark belongs to the block manager, unless a subclass says otherwise */
  protected ForwardingClient(BlockStoreClient spark) {
    this.spark = spark;
  }

  @Override
  public void pushBlocks(
      String host,
      int port,
      String[] blockIds,
      ManagedBuffer[] buffers,
      BlockPushingListener listener) {
    spark.pushBlocks(host, port, blockIds, buffers, listener);
  }

  @Override
  public void finalizeShuffleMerge(
      String host, int port, int shuffleId, int shuffleMergeId, MergeFinalizerListener listener) {
    spark.finalizeShuffleMerge(host, port, shuffleId, shuffleMergeId, listener);
  }

  @Override
  public boolean removeShuffleMerge(String host, int port, int shuffleId, int shuffleMergeId) {
    return spark.removeShuffleMerge(host, port, shuffleId, shuffleMergeId);
  }

  @Override
  public void getMergedBlockMeta(
      String host,
      int port,
      int shuffleId,
      int shuffleMergeId,
      int reduceId,
      MergedBlocksMetaListener listener) {
    spark.getMergedBlockMeta(host, port, shuffleId, shuffleMergeId, reduceId, listener);
  }

  @Override
  public void getHostLocalDirs(
      String host,
      int port,
      String[] execIds,
      CompletableFuture<Map<String, String[]>> hostLocalDirs) {
    spark.getHostLocalDirs(host, port, execIds, hostLocalDirs);
  }

  @Override
  public Cause diagnoseCorruption(
      String host,
      int port,
      String execId,
      int shuffleId,
      long mapId,
      int reduceId,
      long checksum,
      String algorithm) {
    return spark.diagnoseCorruption(
        host, port, execId, shuffleId, mapId, reduceId, checksum, algorithm);
  }

  @Override
  public MetricSet shuffleMetrics() {
    return spark.shuffleMetrics();
  }

  @Override
  public void setAppAttemptId(String appAttemptId) {
    spark.setAppAttemptId(appAttemptId);
  }

  @Override
  public String getAppAttemptId() {
    return spark.getAppAttemptId();
  }
}
