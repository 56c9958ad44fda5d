/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.shufflerdma.connection.PeerId;
import org.shufflerdma.connection.RdmaTransport;
import org.shufflerdma.fetch.BlockFetcher;
import org.shufflerdma.fetch.BlockRequest;
import org.shufflerdma.fetch.FetchListener;
import org.shufflerdma.fetch.FetchSettings;
import org.shufflerdma.fetch.descriptor.DescriptorRef;
import org.shufflerdma.fetch.read.Origin;
import org.shufflerdma.memory.RegisteredSlice;
import org.shufflerdma.metrics.TcpReason;
import org.shufflerdma.staging.Staging;

/**
 * The plugin's fetcher below Spark's block iterator, which delivers blocks in a thread of its own. Each
 * pass reads the descriptors of all map outputs once.
 */
final class FetcherReader implements BlockReader, AutoCloseable {
  private static final long POOL_BYTES = 128 << 20;
  private static final int CORES = 2;

  private final RdmaTransport transport;
  private final Staging staging;
  private final BlockFetcher fetcher;
  private final PeerId peer;
  private final JsonNode outputs;

  /**
   * A reader of what the server said.
   *
   * @param address of this host
   */
  FetcherReader(JsonNode server, InetAddress address) throws Exception {
    peer = Plugin.peer("server", server);
    outputs = server.get("outputs");
    transport = Plugin.open("reader", POOL_BYTES, address);
    staging = Plugin.openStaging(
        transport,
        (shuffleId, mapId) -> {
          throw new IllegalStateException("the reader has no blocks");
        },
        0);
    fetcher = new BlockFetcher(
        transport,
        staging.clients(),
        null,
        FetchSettings.of(CORES, Plugin.SETTINGS.withdrawGraceMs()));
  }

  BlockFetcher fetcher() {
    return fetcher;
  }

  PeerId peer() {
    return peer;
  }

  DescriptorRef descriptor(BlockSet set, int map) {
    JsonNode descriptor = outputs.get(set.label()).get(map);
    return new DescriptorRef(
        descriptor.get(0).asLong(),
        (int) descriptor.get(1).asLong(),
        descriptor.get(2).asLong(),
        set.shuffleId(),
        map,
        set.partitions());
  }

  @Override
  public void begin(BlockSet set) {
    fetcher.forgetShuffle(set.shuffleId());
  }

  @Override
  public void request(BlockSet set, int partition, Tally tally) {
    List<BlockRequest> blocks = new ArrayList<>();
    for (int map = 0; map < set.maps(); map++) {
      blocks.add(new BlockRequest(map, descriptor(set, map), partition, partition + 1, null));
    }
    FetchListener listener = new FetchListener() {
      @Override
      public void onSuccess(long tag, RegisteredSlice block, Origin origin) {
        tally.add(block.nioBuffer());
        block.release();
      }

      @Override
      public void onStreamed(long tag, long lengthBytes, Origin origin) {
        tally.fail(new IllegalStateException("no block has a sink"));
      }

      @Override
      public void onFailure(long tag, TcpReason reason, Throwable cause) {
        tally.fail(cause);
      }
    };
    fetcher.fetch(peer, null, blocks, listener);
  }

  @Override
  public void close() {
    fetcher.close();
    staging.close();
    transport.close();
  }
}
