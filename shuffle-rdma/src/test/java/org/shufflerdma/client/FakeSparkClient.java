/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.client;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;

/** Stands for Spark's client: remembers what it was asked for and delivers one byte per block. */
class FakeSparkClient extends BlockStoreClient {
  private final List<String> requested = new CopyOnWriteArrayList<>();

  List<String> requested() {
    return requested;
  }

  @Override
  public void fetchBlocks(
      String host,
      int port,
      String execId,
      String[] blockIds,
      BlockFetchingListener listener,
      DownloadFileManager files) {
    requested.addAll(Arrays.asList(blockIds));
    for (String blockId : blockIds) {
      listener.onBlockFetchSuccess(blockId, new NioManagedBuffer(ByteBuffer.allocate(1)));
    }
  }

  @Override
  public void close() {}
}
