/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Objects;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.openucx.jucx.UcxCallback;
import org.openucx.jucx.UcxUtils;
import org.openucx.jucx.ucp.UcpContext;
import org.openucx.jucx.ucp.UcpEndpoint;
import org.openucx.jucx.ucp.UcpEndpointParams;
import org.openucx.jucx.ucp.UcpMemory;
import org.openucx.jucx.ucp.UcpParams;
import org.openucx.jucx.ucp.UcpRemoteKey;
import org.openucx.jucx.ucp.UcpRequest;
import org.openucx.jucx.ucp.UcpWorker;
import org.openucx.jucx.ucp.UcpWorkerParams;
import org.shufflerdma.concurrent.Deadline;

/** One-sided gets of UCX, over the transport that it picks, by the thread that also checks the blocks. */
final class UcxReader implements BlockReader, AutoCloseable {
  private static final int LIMIT_MS = 60_000;

  /** Looking at the clock at each step would add to the time of a get. */
  private static final int STEPS_PER_LOOK = 1 << 16;

  private static final int SINK_BYTES = 8 << 20;

  private final UcpContext context = new UcpContext(new UcpParams().requestRmaFeature());
  private final UcpWorker worker = context.newWorker(new UcpWorkerParams());
  private final UcpEndpoint endpoint;
  private final ByteBuffer sink = ByteBuffer.allocateDirect(SINK_BYTES);
  private final UcpMemory registered = context.registerMemory(sink);
  private final JsonNode server;
  private String label = "";
  private int[] checksums = {};
  private long address;
  private @Nullable UcpRemoteKey key;

  /** A reader of what the server said of UCX. */
  UcxReader(JsonNode server) {
    this.server = server;
    endpoint = worker.newEndpoint(
        new UcpEndpointParams().setUcpAddress(direct(server.get("worker").asText())));
  }

  private static ByteBuffer direct(String hex) {
    byte[] bytes = HexFormat.of().parseHex(hex);
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  @Override
  public void begin(BlockSet set) {
    closeKey();
    key = endpoint.unpackRemoteKey(direct(server.get(set.label()).get("rkey").asText()));
    if (!label.equals(set.label())) {
      label = set.label();
      address = server.get(label).get("address").asLong();
      checksums = new int[set.blocks()];
      for (int map = 0; map < set.maps(); map++) {
        for (int partition = 0; partition < set.partitions(); partition++) {
          checksums[(int) set.number(map, partition)] = set.checksum(map, partition);
        }
      }
    }
  }

  /** Returns when the last block has come. */
  @Override
  public void request(BlockSet set, int partition, Tally tally) throws Exception {
    UcpRequest[] gets = new UcpRequest[set.maps()];
    for (int map = 0; map < gets.length; map++) {
      gets[map] = endpoint.getNonBlocking(
          address + set.number(map, partition) * set.blockBytes(),
          Objects.requireNonNull(key),
          UcxUtils.getAddress(sink) + (long) map * set.blockBytes(),
          set.blockBytes(),
          new UcxCallback());
    }
    for (int map = 0; map < gets.length; map++) {
      awaitCompletion(gets[map]);
      ByteBuffer block = sink.slice(map * set.blockBytes(), set.blockBytes());
      CRC32C crc = new CRC32C();
      crc.update(block.duplicate());
      if ((int) crc.getValue() != checksums[(int) set.number(map, partition)]) {
        throw new IOException("the checksum of a block that UCX brought is wrong");
      }
      tally.add(block);
    }
  }

  private void awaitCompletion(UcpRequest get) throws Exception {
    Deadline deadline = Deadline.afterMs(LIMIT_MS);
    for (int steps = 1; !get.isCompleted(); steps++) {
      worker.progress();
      if (steps % STEPS_PER_LOOK == 0 && deadline.expired()) {
        throw new IOException("UCX did not bring a block within " + LIMIT_MS + " ms");
      }
    }
  }

  private void closeKey() {
    if (key != null) {
      key.close();
      key = null;
    }
  }

  @Override
  public void close() {
    closeKey();
    registered.close();
    endpoint.close();
    worker.close();
    context.close();
  }
}
