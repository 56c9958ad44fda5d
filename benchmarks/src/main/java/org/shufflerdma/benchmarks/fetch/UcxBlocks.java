/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.benchmarks.fetch;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openucx.jucx.UcxUtils;
import org.openucx.jucx.ucp.UcpContext;
import org.openucx.jucx.ucp.UcpMemMapParams;
import org.openucx.jucx.ucp.UcpMemory;
import org.openucx.jucx.ucp.UcpParams;
import org.openucx.jucx.ucp.UcpWorker;
import org.openucx.jucx.ucp.UcpWorkerParams;
import org.shufflerdma.concurrent.Acquired;

/**
 * Offers blocks by UCX, in memory that UCX allocates: only such memory can be read over shared memory
 * without the help of the process that owns it.
 */
final class UcxBlocks implements AutoCloseable {
  private final Acquired acquired = new Acquired();
  private final Map<String, Object> said = new LinkedHashMap<>();

  UcxBlocks(List<BlockSet> sets) {
    UcpContext context = acquired.keep(new UcpContext(new UcpParams().requestRmaFeature()));
    UcpWorker worker = acquired.keep(context.newWorker(new UcpWorkerParams()));
    said.put("worker", hex(worker.getAddress()));
    for (BlockSet set : sets) {
      UcpMemory memory = acquired.keep(context.memoryMap(
          new UcpMemMapParams().allocate().setLength((long) set.blocks() * set.blockBytes())));
      for (int map = 0; map < set.maps(); map++) {
        for (int partition = 0; partition < set.partitions(); partition++) {
          UcxUtils.getByteBufferView(
                  memory.getAddress() + set.number(map, partition) * set.blockBytes(),
                  set.blockBytes())
              .put(set.content(map, partition));
        }
      }
      said.put(
          set.label(),
          Map.of("address", memory.getAddress(), "rkey", hex(memory.getRemoteKeyBuffer())));
    }
  }

  /** Where the blocks are, for the reader. */
  Map<String, Object> said() {
    return said;
  }

  private static String hex(ByteBuffer bytes) {
    byte[] copy = new byte[bytes.remaining()];
    bytes.get(copy);
    return HexFormat.of().formatHex(copy);
  }

  @Override
  public void close() {
    acquired.close();
  }
}
