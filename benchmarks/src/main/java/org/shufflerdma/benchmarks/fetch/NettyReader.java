/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.CRC32C;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.client.TransportClientFactory;
import org.apache.spark.network.server.NoOpRpcHandler;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.OneForOneBlockFetcher;

/** Spark's own client. */
final class NettyReader implements BlockReader, AutoCloseable {
  private final TransportContext context =
      new TransportContext(NettyBlocks.CONF, new NoOpRpcHandler());
  private final TransportClientFactory clients = context.createClientFactory();
  private final TransportClient client;
  private Map<String, Integer> checksums = Map.of();

  NettyReader(String host, int port) throws IOException, InterruptedException {
    client = clients.createClient(host, port);
  }

  @Override
  public void begin(BlockSet set) {
    if (!checksums.containsKey(name(set, 0, 0))) {
      Map<String, Integer> expected = new HashMap<>();
      for (int map = 0; map < set.maps(); map++) {
        for (int partition = 0; partition < set.partitions(); partition++) {
          expected.put(name(set, map, partition), set.checksum(map, partition));
        }
      }
      checksums = expected;
    }
  }

  private static String name(BlockSet set, int map, int partition) {
    return "shuffle_" + set.shuffleId() + "_" + map + "_" + partition;
  }

  @Override
  public void request(BlockSet set, int partition, Tally tally) {
    String[] names = new String[set.maps()];
    for (int map = 0; map < names.length; map++) {
      names[map] = name(set, map, partition);
    }
    BlockFetchingListener listener = new BlockFetchingListener() {
      @Override
      public void onBlockFetchSuccess(String block, ManagedBuffer data) {
        try {
          ByteBuffer bytes = data.nioByteBuffer();
          CRC32C crc = new CRC32C();
          crc.update(bytes.duplicate());
          if ((int) crc.getValue() != checksums.getOrDefault(block, 0)) {
            throw new IOException("the checksum of " + block + " is wrong");
          }
          tally.add(bytes);
        } catch (IOException | RuntimeException e) {
          tally.fail(e);
        }
      }

      @Override
      public void onBlockFetchFailure(String block, Throwable cause) {
        tally.fail(cause);
      }
    };
    new OneForOneBlockFetcher(client, "bench", "server", names, listener, NettyBlocks.CONF).start();
  }

  @Override
  public void close() {
    client.close();
    clients.close();
    context.close();
  }
}
