/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.beneath;

import com.codahale.metrics.MetricSet;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockPushingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.MergeFinalizerListener;
import org.apache.spark.network.shuffle.MergedBlocksMetaListener;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.jspecify.annotations.Nullable;

/**
 * Stands in front of the block manager's client. It has blocks of map outputs fetched by RDMA for the tasks that ask for
 * them, and leaves everything else to Spark's client, which it does not own. Any thread may call.
 */
public final class FrontClient extends BlockStoreClient {
  private static final String SHUFFLE_BLOCK = "shuffle_";

  /** Finds the client that fetches for a task by RDMA. */
  @FunctionalInterface
  public interface ByRdma {
    /** Returns null if RDMA cannot be used, or not yet. */
    @Nullable
    BlockStoreClient clientOf(TaskContext task, BlockStoreClient sparks);
  }

  private final BlockStoreClient spark;
  private final ByRdma rdma;

  public FrontClient(BlockStoreClient spark, ByRdma rdma) {
    this.spark = spark;
    this.rdma = rdma;
  }

  @Override
  public void fetchBlocks(
      String host,
      int port,
      String execId,
      String[] blockIds,
      BlockFetchingListener listener,
      @Nullable DownloadFileManager files) {
    TaskContext task = TaskContext.get();
    boolean areOfOutputs = blockIds.length > 0 && blockIds[0].startsWith(SHUFFLE_BLOCK);
    BlockStoreClient client = task == null || !areOfOutputs ? null : rdma.clientOf(task, spark);
    (client == null ? spark : client).fetchBlocks(host, port, execId, blockIds, listener, files);
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

  /** Called by the block manager when it stops. */
  @Override
  public void close() throws IOException {
    spark.close();
  }
}
