/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.server.OneForOneStreamManager;
import org.apache.spark.network.server.RpcHandler;
import org.apache.spark.network.server.StreamManager;
import org.apache.spark.network.shuffle.protocol.BlockTransferMessage;
import org.apache.spark.network.shuffle.protocol.FetchShuffleBlocks;
import org.apache.spark.network.shuffle.protocol.StreamHandle;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/** Serves blocks by Spark's network stack as the block manager of an executor does. */
final class NettyBlocks extends RpcHandler {
  /** An executor has as many threads of each kind as it has cores. */
  static final TransportConf CONF = new TransportConf(
      "shuffle",
      new MapConfigProvider(
          Map.of("spark.shuffle.io.serverThreads", "2", "spark.shuffle.io.clientThreads", "2")));

  private final OneForOneStreamManager streams = new OneForOneStreamManager();
  private final Path directory;
  private final List<BlockSet> sets;

  NettyBlocks(Path directory, List<BlockSet> sets) {
    this.directory = directory;
    this.sets = sets;
  }

  @Override
  public void receive(TransportClient client, ByteBuffer message, RpcResponseCallback callback) {
    FetchShuffleBlocks request =
        (FetchShuffleBlocks) BlockTransferMessage.Decoder.fromByteBuffer(message);
    BlockSet set = sets.stream()
        .filter(each -> each.shuffleId() == request.shuffleId)
        .findFirst()
        .orElseThrow();
    List<ManagedBuffer> blocks = new ArrayList<>();
    for (int i = 0; i < request.mapIds.length; i++) {
      for (int partition : request.reduceIds[i]) {
        blocks.add(new FileSegmentManagedBuffer(
            CONF,
            set.file(directory, (int) request.mapIds[i]).toFile(),
            (long) partition * set.blockBytes(),
            set.blockBytes()));
      }
    }
    long stream = streams.registerStream(request.appId, blocks.iterator(), client.getChannel());
    callback.onSuccess(new StreamHandle(stream, blocks.size()).toByteBuffer());
  }

  @Override
  public StreamManager getStreamManager() {
    return streams;
  }
}
