/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.beneath;

import java.io.IOException;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.jspecify.annotations.Nullable;
import org.shufflerdma.client.ForwardingClient;

/**
 * Stands in front of the block manager's client. It has blocks of map outputs fetched by RDMA for the tasks that ask for
 * them, and leaves everything else to Spark's client, which it does not own. Any thread may call.
 */
public final class FrontClient extends ForwardingClient {
  private static final String SHUFFLE_BLOCK = "shuffle_";

  /** Finds the client that fetches for a task by RDMA. */
  @FunctionalInterface
  public interface ByRdma {
    /** Returns null if RDMA cannot be used, or not yet. */
    @Nullable
    BlockStoreClient clientOf(TaskContext task, BlockStoreClient sparks);
  }

  private final ByRdma rdma;

  public FrontClient(BlockStoreClient spark, ByRdma rdma) {
    super(spark);
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

  /** Called by the block manager when it stops. */
  @Override
  public void close() throws IOException {
    spark.close();
  }
}
