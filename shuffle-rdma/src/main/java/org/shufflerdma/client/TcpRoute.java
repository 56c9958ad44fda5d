/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.jspecify.annotations.Nullable;

/**
 * Sends blocks of one request to Spark's own client. Blocks come one by one as RDMA
 * fails them, from threads that must not wait; they leave together, from a thread that may, as
 * Spark's client can take its time to connect. Any thread may call.
 */
final class TcpRoute {
  private final BlockStoreClient spark;
  private final String host;
  private final int port;
  private final String executorId;
  private final BlockFetchingListener listener;
  private final @Nullable DownloadFileManager files;
  private final FallbackThreads threads;

  private final Object lock = new Object();
  // Guarded by lock.
  private List<String> waiting = new ArrayList<>();

  TcpRoute(
      BlockStoreClient spark,
      String host,
      int port,
      String executorId,
      BlockFetchingListener listener,
      @Nullable DownloadFileManager files,
      FallbackThreads threads) {
    this.spark = spark;
    this.host = host;
    this.port = port;
    this.executorId = executorId;
    this.listener = listener;
    this.files = files;
    this.threads = threads;
  }

  String executorId() {
    return executorId;
  }

  void take(String blockId) {
    synchronized (lock) {
      waiting.add(blockId);
      if (waiting.size() > 1) {
        return; // the task that will send the first one sends this one, too
      }
    }
    try {
      threads.execute(host, this::send, this::refuse);
    } catch (OutOfMemoryError e) { // a block that nobody sends would be waited for without end
      fail(takeWaiting(), e);
    }
  }

  private void send() {
    String[] blockIds = takeWaiting();
    try {
      spark.fetchBlocks(host, port, executorId, blockIds, listener, files);
    } catch (Throwable t) { // a block that nobody reports would be waited for without end
      fail(blockIds, t);
    }
  }

  private void refuse() {
    fail(takeWaiting(), new IOException("the executor is stopping"));
  }

  private void fail(String[] blockIds, Throwable cause) {
    for (String blockId : blockIds) {
      listener.onBlockFetchFailure(blockId, cause);
    }
  }

  private String[] takeWaiting() {
    synchronized (lock) {
      String[] blockIds = waiting.toArray(new String[0]);
      waiting = new ArrayList<>();
      return blockIds;
    }
  }
}
